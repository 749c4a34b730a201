// Chu-Liu-Edmonds by a warp whose lanes are the words of a sentence (at most 31). Each round finds
// all cycles by pointer jumping and contracts them. A component is identified by its lowest word,
// whose lane holds its row, its best incoming arc and the score of that arc in registers. Lane 0 is
// the root.
#pragma once

#include "group/group.h"

namespace sparsewood {

struct ChuLiuEdmondsLanes {
    static constexpr int kMostHeads = 32;
    int words;              // n
    int heads;              // n + 1 columns
    double* cycle_scores;  // (n, n + 1) rows of the cycles
    int32_t* members;      // (n, 32) of each cycle, by lane: a member's row, the head of its arc

    SPARSEWOOD_HD void lay_out(Arena& arena, int n) {
        words = n;
        heads = n + 1;
        cycle_scores = arena.take<double>(int64_t(n) * heads);
        members = arena.take<int32_t>(int64_t(n) * kMostHeads);
    }

    // scores: (n, n + 1), self arcs and forbidden arcs kForbidden. Writes tree (n).
    // False if no tree is left.
    template <class G>
    SPARSEWOOD_HD bool argmax(const G& g, const double* scores, int16_t* tree) {
        const int lane = g.lane();
        Component own = choose_head(scores, lane);
        if (g.ballot(own.is_there && own.head < 0)) return false;
        int component = lane, cycles = 0;  // component of this lane's word; number of cycles so far
        uint32_t inside = 0;               // members of the cycle with the number of this lane
        while (true) {
            int least;
            uint32_t on_cycle = find_cycles(g, own, component, least);
            if (on_cycle == 0) break;
            bool is_on = on_cycle >> lane & 1;
            uint32_t leaders = g.ballot(is_on && least == lane);
            for (; leaders; leaders &= leaders - 1, ++cycles) {
                int name = lowest_bit(leaders);
                uint32_t cycle = g.ballot(is_on && least == name);
                if (lane == cycles) inside = cycle;
                if (!merge(g, scores, cycle, cycles, name, own, component)) return false;
            }
        }
        g.sync();
        int32_t member = cycles > 0 ? members[(cycles - 1) * kMostHeads + lane] : 0;
        while (cycles-- > 0) {
            int32_t ahead = cycles > 0 ? members[(cycles - 1) * kMostHeads + lane] : 0;
            expand(g, scores, g.shuffle(inside, cycles), cycles, member, own);
            member = ahead;
        }
        if (lane > 0 && lane < heads) tree[lane - 1] = static_cast<int16_t>(own.head);
        g.sync();
        return true;
    }

  private:
    struct Component {
        bool is_there;  // whether a component is identified by this lane's word
        int row;        // its row of the scores, from 0; rows of cycles from n on
        int head;       // head of the best arc into it
        double base;    // score of this arc
    };

    SPARSEWOOD_HD const double* row_of(const double* scores, int row) const {
        return row < words ? scores + row * heads : cycle_scores + (row - words) * heads;
    }

    SPARSEWOOD_HD Component choose_head(const double* scores, int lane) const {
        Component own{lane > 0 && lane < heads, lane - 1, -1, kForbidden};
        if (!own.is_there) return own;
        const double* row = scores + own.row * heads;
SPARSEWOOD_UNROLLED
        for (int j = 0; j < heads; ++j) {
            double score = row[j];
            if (score > own.base) own.base = score, own.head = j;
        }
        return own;
    }

    // The components on cycles; `least`: the lowest word reachable from this lane's word.
    template <class G>
    SPARSEWOOD_HD uint32_t find_cycles(const G& g, const Component& own, int component,
                                       int& least) const {
        int next = g.shuffle(component, own.is_there ? own.head : 0);
        int far = own.is_there ? next : 0;
        least = g.lane();
        // After this many arcs every path is at the root or on a cycle; each component of a cycle
        // is reached from exactly one component of it.
        for (int reach = 1; reach < heads; reach *= 2) {
            int there = g.shuffle(least, far);
            least = there < least ? there : least;
            far = g.shuffle(far, far);
        }
        return g.bits(far > 0 ? 1u << far : 0u);
    }

    // Contracts a cycle, given by its components. Lanes are heads. False if no arc enters it.
    template <class G>
    SPARSEWOOD_HD bool merge(const G& g, const double* scores, uint32_t cycle, int number,
                             int name, Component& own, int& component) {
        const int lane = g.lane();
        const bool inside = cycle >> component & 1, is_member = cycle >> lane & 1;
        double best = kForbidden;
        const int column = lane < heads ? lane : 0;
        for (uint32_t left = cycle; left;) {  // two at a time, so that loads overlap
            int one = lowest_bit(left);
            left &= left - 1;
            int two = left ? lowest_bit(left) : one;
            left &= left - 1;
            double a = row_of(scores, g.shuffle(own.row, one))[column];
            double b = row_of(scores, g.shuffle(own.row, two))[column];
            a -= g.shuffle(own.base, one);
            b -= g.shuffle(own.base, two);
            a = b > a ? b : a;
            best = a > best ? a : best;
        }
        if (inside || lane >= heads) best = kForbidden;
        if (lane < heads) cycle_scores[number * heads + lane] = best;
        if (is_member) members[number * kMostHeads + lane] = own.row * kMostHeads + own.head;
        int head = g.argmax(best, lane);
        g.sync();
        if (head < 0) return false;
        double base = g.shuffle(best, head);
        if (inside) component = name;
        if (is_member) own.is_there = false;
        if (lane == name) own = {true, words + number, head, base};
        return true;
    }

    // The arc into a cycle enters one member, whose own arc it replaces.
    template <class G>
    SPARSEWOOD_HD void expand(const G& g, const double* scores, uint32_t cycle, int number,
                              int32_t member, Component& own) const {
        const int lane = g.lane(), head = g.shuffle(own.head, lowest_bit(cycle));
        bool is_entered = false;
        if (cycle >> lane & 1) {
            own.row = member / kMostHeads;
            own.head = member % kMostHeads;
            const double* row = row_of(scores, own.row);
            is_entered = row[head] - row[own.head] == cycle_scores[number * heads + head];
        }
        uint32_t entered = g.ballot(is_entered);
        if (lane == lowest_bit(entered)) own.head = head;
    }
};

}  // namespace sparsewood
