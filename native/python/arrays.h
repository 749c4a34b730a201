// The arrays that the bindings take: NumPy or PyTorch, contiguous, on the CPU.
#pragma once

#include <nanobind/ndarray.h>

namespace sparsewood {

template <class T, class... Shape>
using In = nanobind::ndarray<const T, Shape..., nanobind::c_contig, nanobind::device::cpu>;
template <class T, class... Shape>
using Out = nanobind::ndarray<T, Shape..., nanobind::c_contig, nanobind::device::cpu>;

}  // namespace sparsewood
