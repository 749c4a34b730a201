// A stack of its own for a function that can be left and entered again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace emulator {

struct Fiber;
inline void switch_fiber(Fiber& from, Fiber& to);

struct Fiber {
    static constexpr size_t kStack = 256 * 1024;
    std::unique_ptr<char[]> stack;
    std::function<void()> body;
#if defined(__x86_64__)
    void* top = nullptr;
#else
    ucontext_t context;
#endif

    void start(std::function<void()> function);
};

inline Fiber* starting;

inline void enter() { starting->body(); }

#if defined(__x86_64__)

// Registers that a call preserves go to the stack, which is then exchanged; the system is not
// asked, as it is by swapcontext().
extern "C" void emulator_switch(void** from, void* to);
__asm__(
    ".pushsection .text\n"
    ".globl emulator_switch\n"
    ".hidden emulator_switch\n"
    "emulator_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp, (%rdi)\n"
    "movq %rsi, %rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\n"
    "ret\n"
    ".popsection\n");

inline void Fiber::start(std::function<void()> function) {
    body = std::move(function);
    if (!stack) stack.reset(new char[kStack]);
    auto end = (reinterpret_cast<uintptr_t>(stack.get()) + kStack) / 16 * 16;
    auto* words = reinterpret_cast<void**>(end);
    *--words = nullptr;  // what enter() would return to: the stack is then aligned as in a call
    *--words = reinterpret_cast<void*>(enter);
    for (int i = 0; i < 6; ++i) *--words = nullptr;
    top = words;
}

inline void switch_fiber(Fiber& from, Fiber& to) {
    starting = &to;
    emulator_switch(&from.top, to.top);
}

#else

inline void Fiber::start(std::function<void()> function) {
    body = std::move(function);
    if (!stack) stack.reset(new char[kStack]);
    getcontext(&context);
    context.uc_stack.ss_sp = stack.get();
    context.uc_stack.ss_size = kStack;
    context.uc_link = nullptr;
    makecontext(&context, enter, 0);
}

inline void switch_fiber(Fiber& from, Fiber& to) {
    starting = &to;
    swapcontext(&from.context, &to.context);
}

#endif

}  // namespace emulator
