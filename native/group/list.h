// A std::vector that takes signed integers as sizes and indices.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <vector>

namespace sparsewood {

template <class T>
class List : public std::vector<T> {
    using Base = std::vector<T>;

  public:
    List() = default;
    List(std::initializer_list<T> values) : Base(values) {}
    template <class Integer>
    explicit List(Integer count, const T& value = T()) : Base(static_cast<size_t>(count), value) {}

    template <class Integer>
    typename Base::reference operator[](Integer i) {
        return Base::operator[](static_cast<size_t>(i));
    }
    template <class Integer>
    typename Base::const_reference operator[](Integer i) const {
        return Base::operator[](static_cast<size_t>(i));
    }
    template <class Integer>
    void resize(Integer count) {
        Base::resize(static_cast<size_t>(count));
    }
    template <class Integer>
    void assign(Integer count, const T& value) {
        Base::assign(static_cast<size_t>(count), value);
    }
};

}  // namespace sparsewood
