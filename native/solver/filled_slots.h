// Structures as lists of their filled slots, beside their codes.
//
// For families of many slots with two options, of which a structure fills few: the edges of a
// spanning tree, the items of a small set. What the solver does per slot it then does per filled
// slot. Only for CPU threads; sums have the same terms in the same order as those over codes.
#pragma once

#include "group/group.h"

namespace sparsewood {

struct FilledSlots {
    static constexpr int kTogether = 16;  // structures compared with all others in one pass
    static constexpr int kFew = 8;        // there are lists if at most 1 / kFew slots are filled
    int slots, stride;
    int most;         // maximum number of filled slots; 0: there are no lists
    int32_t* lists;   // (capacity, most) by place: filled slots in increasing order
    int32_t* counts;  // (capacity) by place
    uint8_t* marks;   // (slots, kTogether) scratch, 0 between calls

    SPARSEWOOD_HD void lay_out(Arena& arena, int all_slots, int code_stride, int most_filled) {
        slots = all_slots, stride = code_stride;
        most = arena.lanes == 1 && int64_t(most_filled) * kFew <= slots ? most_filled : 0;
        marks = arena.take<uint8_t>(most > 0 ? int64_t(slots) * kTogether : 0);
    }

    SPARSEWOOD_HD void lay_out_active(Arena& arena, int room) {
        lists = arena.take<int32_t>(int64_t(room) * most);
        counts = arena.take<int32_t>(most > 0 ? room : 0);
    }

    SPARSEWOOD_HD bool exist() const { return most > 0; }
    SPARSEWOOD_HD const int32_t* at(int p) const { return lists + int64_t(p) * most; }

    void begin() {
        if (exist()) std::memset(marks, 0, static_cast<size_t>(slots) * kTogether);
    }

    void copy(const FilledSlots& from, int capacity) {
        if (!exist()) return;
        for (int64_t i = 0; i < int64_t(capacity) * most; ++i) lists[i] = from.lists[i];
        for (int p = 0; p < capacity; ++p) counts[p] = from.counts[p];
    }

    // Lists the structure at place p.
    SPARSEWOOD_HD void list(int p, const int16_t* code) {
        int32_t* to = lists + int64_t(p) * most;
        int count = 0;
        where_filled(code, code, stride, [&](int i) { to[count++] = i; });
        counts[p] = count;
    }

    // Calls f(slot) for the slots filled by the structure at place p.
    template <class F>
    void each(int p, F f) const {
        const int32_t* list = at(p);
        for (int c = 0; c < counts[p]; ++c) f(list[c]);
    }

    // Calls f(slot, sign) for the slots in which two structures differ, in order: sign is 1 if the
    // first fills it, -1 if the second does.
    template <class F>
    void where_differ(int p, int q, F f) const {
        const int32_t *a = at(p), *b = at(q), *a_end = a + counts[p], *b_end = b + counts[q];
        while (a < a_end && b < b_end) {
            if (*a == *b)
                ++a, ++b;
            else if (*a < *b)
                f(*a++, 1);
            else
                f(*b++, -1);
        }
        while (a < a_end) f(*a++, 1);
        while (b < b_end) f(*b++, -1);
    }

    int common(int p, int q) const {
        int different = 0;
        where_differ(p, q, [&](int, int) { ++different; });
        return (counts[p] + counts[q] - different) / 2;
    }

    // Calls write(w, a, common slots) for the structures at places waiting[w], w < count, and
    // place[a], a < size.
    template <class Write>
    void compare(const int32_t* waiting, int count, const int32_t* place, int size,
                 Write write) const {
        for (int start = 0; start < count; start += kTogether) {
            int some = count - start < kTogether ? count - start : kTogether;
            auto mark = [&](uint8_t value) {
                for (int w = 0; w < some; ++w)
                    each(waiting[start + w],
                         [&](int i) { marks[int64_t(i) * kTogether + w] = value; });
            };
            mark(1);
            for (int a = 0; a < size; ++a) {
                int32_t sums[kTogether] = {};
                const int32_t* list = at(place[a]);
                for (int c = 0; c < counts[place[a]]; c += kCounted) {
                    int left = counts[place[a]] - c;
                    add_marks(list + c, left < kCounted ? left : kCounted, sums);
                }
                for (int w = 0; w < some; ++w) write(start + w, a, sums[w]);
            }
            mark(0);
        }
    }

  private:
    static constexpr int kCounted = 255;  // slots whose number fits in a byte

    void add_marks(const int32_t* list, int count, int32_t (&sums)[kTogether]) const {
#if defined(__GNUC__)
        typedef uint8_t Bytes __attribute__((vector_size(kTogether)));
        Bytes total = {};
        for (int c = 0; c < count; ++c) {
            Bytes row;
            std::memcpy(&row, marks + int64_t(list[c]) * kTogether, sizeof row);
            total += row;
        }
        for (int w = 0; w < kTogether; ++w) sums[w] += total[w];
#else
        for (int c = 0; c < count; ++c)
            for (int w = 0; w < kTogether; ++w) sums[w] += marks[int64_t(list[c]) * kTogether + w];
#endif
    }
};

}  // namespace sparsewood
