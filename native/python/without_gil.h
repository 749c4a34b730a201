// Work without the GIL that still responds to Python's signals.
#pragma once

#include <nanobind/nanobind.h>

#include "group/interrupt.h"

namespace sparsewood {

// Signal handlers run only on the main thread; elsewhere this does nothing. An exception of a
// handler is kept until without_gil() throws it.
inline void listen_to_python() {
    ask_caller = [] {
        nanobind::gil_scoped_acquire acquire;
        return PyErr_CheckSignals() != 0;
    };
}

template <class Work>
void without_gil(Work work) {
    try {
        nanobind::gil_scoped_release release;
        work();
    } catch (const Interrupted&) {
        throw nanobind::python_error();
    }
}

}  // namespace sparsewood
