#include "group/interrupt.h"

namespace sparsewood {

bool (*ask_caller)() = nullptr;

namespace {
thread_local Call* current = nullptr;
}

Polled::Polled(Call& call) : before_(current) { current = &call; }

Polled::~Polled() { current = before_; }

void poll() {
    if (current) current->poll();
}

}  // namespace sparsewood
