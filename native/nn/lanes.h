// Vectors of sixteen floats, and rows of such vectors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "nn/tanh.h"

namespace sparsewood {

constexpr int64_t kLanes = 16;

// GCC does not vectorize loops that keep several arrays of sixteen floats in registers, so vector
// types are used. They are passed by reference: by value, the ABI depends on the CPU.
#if defined(__GNUC__) || defined(__clang__)
typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float))));
typedef Lanes LanesOfRow __attribute__((aligned(4), may_alias));  // in an array of floats

SPARSEWOOD_INLINE void tanh_lanes(Lanes& x) {
    const Lanes bound = kTanhBound - Lanes{};
    x = x > bound ? bound : x;
    x = x < -bound ? -bound : x;
    to_tanh(x);
}
#else
struct Lanes {
    float at[kLanes];
};
using LanesOfRow = Lanes;

template <class Function>
Lanes each_lane(Function function) {
    Lanes found;
    for (int64_t i = 0; i < kLanes; ++i) found.at[i] = function(i);
    return found;
}
inline Lanes operator+(const Lanes& a, const Lanes& b) {
    return each_lane([&](int64_t i) { return a.at[i] + b.at[i]; });
}
inline Lanes operator*(const Lanes& a, const Lanes& b) {
    return each_lane([&](int64_t i) { return a.at[i] * b.at[i]; });
}
inline Lanes operator*(float a, const Lanes& b) {
    return each_lane([&](int64_t i) { return a * b.at[i]; });
}
inline Lanes operator-(float a, const Lanes& b) {
    return each_lane([&](int64_t i) { return a - b.at[i]; });
}
inline Lanes& operator+=(Lanes& a, const Lanes& b) { return a = a + b; }
inline Lanes& operator*=(Lanes& a, const Lanes& b) { return a = a * b; }
inline void tanh_lanes(Lanes& x) {
    for (float& number : x.at) number = fast_tanh(number);
}
#endif

// For loads and stores only: a reference to Lanes would assume an alignment of 64 bytes.
SPARSEWOOD_INLINE LanesOfRow& lanes(float* at) { return *reinterpret_cast<LanesOfRow*>(at); }
SPARSEWOOD_INLINE const LanesOfRow& lanes(const float* at) {
    return *reinterpret_cast<const LanesOfRow*>(at);
}

// `count` is a multiple of kLanes.
SPARSEWOOD_INLINE void tanh_row(float* row, int64_t count) {
    for (int64_t i = 0; i < count; i += kLanes) {
        Lanes x = lanes(row + i);
        tanh_lanes(x);
        lanes(row + i) = x;
    }
}

SPARSEWOOD_INLINE float sum_lanes(const Lanes& x) {
    float all[kLanes];
    lanes(all) = x;
    for (int64_t half = kLanes / 2; half > 0; half /= 2)
        for (int64_t i = 0; i < half; ++i) all[i] += all[i + half];
    return all[0];
}

// Rows of a multiple of kLanes floats, aligned to cache lines.
class Rows {
  public:
    void resize(int64_t rows, int64_t width) { lines_.resize(count(rows, width)); }
    void clear(int64_t rows, int64_t width) { lines_.assign(count(rows, width), Line{}); }
    float* data() { return lines_.data()->at; }
    const float* data() const { return lines_.data()->at; }

  private:
    struct alignas(kLanes * sizeof(float)) Line {
        float at[kLanes];
    };
    static size_t count(int64_t rows, int64_t width) {
        return static_cast<size_t>(rows * width / kLanes) + 1;  // never 0, `data` needs a line
    }
    std::vector<Line> lines_;
};

inline int64_t whole_lanes(int64_t size) { return (size + kLanes - 1) / kLanes * kLanes; }

// Copies rows of `size` numbers, each padded with zeros to a multiple of kLanes, and back.
inline void widen(const float* from, int64_t rows, int64_t size, float* to) {
    const int64_t width = whole_lanes(size);
    std::fill_n(to, rows * width, 0.f);
    for (int64_t row = 0; row < rows; ++row) std::copy_n(from + row * size, size, to + row * width);
}

inline void narrow(const float* from, int64_t rows, int64_t size, float* to) {
    const int64_t width = whole_lanes(size);
    for (int64_t row = 0; row < rows; ++row) std::copy_n(from + row * width, size, to + row * size);
}

}  // namespace sparsewood
