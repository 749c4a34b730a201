// Work that leaves Python to other threads and hears its signals all the same.
#pragma once

#include <nanobind/nanobind.h>

#include "group/interrupt.h"

namespace sparsewood {

// Handlers of signals run on the main thread alone, and elsewhere this does nothing. An exception
// of a handler stays with the thread until without_gil() throws it.
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
