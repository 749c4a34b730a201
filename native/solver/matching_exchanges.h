// Exchanges of matchings (Murty 1968; Chegireddy & Hamacher 1987, "Algorithms for finding K-best
// perfect matchings"): see best_exchanges.h.
//
// A slot that moves to the option of another one has a loss, which is never negative by the prices
// of the matching (families/matching.h). The best matching in which a slot moves, and none before
// it, differs by the cheapest cycle of moves through that slot and later ones. These are found for
// all slots at once by the algorithm of Floyd (1962), which adds the last slot first.
//
// Options without owner belong to one more node, after all slots, that loses the price of an option
// it takes. So does option 0 of a partial matching, which a slot that has it gives back to the node.
#pragma once

#include <algorithm>
#include <vector>

#include "families/matching.h"
#include "solver/best_exchanges.h"

namespace sparsewood {

template <bool Partial>
class ExchangesOf<Matching<Partial>> {
  public:
    static constexpr bool kKnown = true;

    // The best matching with the options of its slots before `from`, whose slot `from` has none of
    // the `banned` options.
    struct Known {
        std::vector<int16_t> code;
        std::vector<double> price;  // of all options; 0 for those without owner
        int from = 0;
        std::vector<int16_t> banned;
    };

    ExchangesOf(Matching<Partial>& family, const double* table)
        : family_(family), table_(table), width_(static_cast<size_t>(family.width)) {}

    bool first(Known& best) {
        best.code.resize(static_cast<size_t>(family_.slots));
        if (!family_(Thread{}, table_, best.code.data())) return false;
        best.price.assign(family_.price, family_.price + width_);
        return true;
    }

    double total(const Known& known) const {
        double sum = 0;
        for (int i = 0; i < family_.slots; ++i) sum += row_of(i)[known.code[size_t(i)]];
        return sum;
    }

    void write(const Known& known, std::vector<int16_t>& code) const { code = known.code; }

    template <class See>
    void each(const Known& known, double limit, See see) {
        read(known);
        size_t m = nodes();
        losses_.resize(m * m);
        for (size_t v = 0; v < m; ++v) write_losses(known, v, &losses_[v * m]);
        for (size_t k = m; k-- > 0;) {
            if (k % kPoll == 0) poll();
            const double* last = &losses_[k * m];
            if (k < options_.size() && last[k] < limit)
                limit = see(last[k], known.from + static_cast<int>(k));
            for (size_t v = 0; v < k; ++v) {
                double* row = &losses_[v * m];
                double to = row[k];
                if (!(to < limit)) continue;
                for (size_t u = 0; u < k; ++u) row[u] = to + last[u] < row[u] ? to + last[u] : row[u];
            }
        }
    }

    // The cheapest cycle of moves by the algorithm of Dijkstra (1959), which also gives the prices.
    Known exchange(const Known& from, int at) {
        Known known = from;
        if (at != from.from) known.banned.clear();
        known.banned.push_back(from.code[size_t(at)]);
        known.from = at;
        read(known);
        const size_t m = nodes();
        size_t v = 0;
        std::vector<double> cost(m, -kForbidden), row(m);
        std::vector<size_t> before(m, 0);
        std::vector<bool> done(m, false);
        double total = 0;
        do {
            write_losses(known, v, row.data());
            for (size_t u = 0; u < m; ++u)
                if (total + row[u] < cost[u]) cost[u] = total + row[u], before[u] = v;
            v = m;
            for (size_t u = 0; u < m; ++u)
                if (!done[u] && (v == m || cost[u] < cost[v])) v = u;
            done[v] = true;
            total = cost[v];
        } while (v != 0);
        move(known, before);
        raise(known, cost, total);
        return known;
    }

  private:
    static constexpr size_t kPoll = 16;  // nodes between two polls
    Matching<Partial>& family_;
    const double* table_;
    size_t width_;
    std::vector<int16_t> options_;  // of the slots that may move
    std::vector<double> prices_;    // of these options
    std::vector<int16_t> free_;     // options that no slot has; in a partial matching, option 0 too
    std::vector<double> losses_;    // (nodes, nodes), then those of the cheapest paths

    const double* row_of(int slot) const { return table_ + family_.base(slot); }
    size_t nodes() const { return options_.size() + !free_.empty(); }
    static bool is_empty(int16_t option) { return Partial && option == 0; }

    // Nodes are the slots from known.from on.
    void read(const Known& known) {
        options_.assign(known.code.begin() + known.from, known.code.end());
        prices_.clear();
        for (int16_t option : options_) prices_.push_back(known.price[size_t(option)]);
        std::vector<bool> taken(width_, false);
        for (int16_t option : known.code) taken[size_t(option)] = !is_empty(option);
        free_.clear();
        for (size_t j = 0; j < width_; ++j)
            if (!taken[j]) free_.push_back(static_cast<int16_t>(j));
    }

    static bool is_banned(const Known& known, size_t v, int16_t option) {
        return v == 0 && std::find(known.banned.begin(), known.banned.end(), option) !=
                             known.banned.end();
    }

    // The best free option of slot node v except its own; -1: none.
    int16_t best_free(const Known& known, size_t v) const {
        const double* row = row_of(known.from + static_cast<int>(v));
        int16_t best = -1;
        for (int16_t option : free_)
            if (option != options_[v] && (best < 0 || row[option] > row[best]) &&
                !is_banned(known, v, option))
                best = option;
        return best;
    }

    // What node v loses by the option of each node; it does not stay where it is.
    void write_losses(const Known& known, size_t v, double* losses) const {
        size_t slots = options_.size();
        if (v == slots) {
            for (size_t u = 0; u < slots; ++u) losses[u] = std::max(prices_[u], 0.0);
        } else {
            const double* row = row_of(known.from + static_cast<int>(v));
            double own = row[options_[v]] - prices_[v];
            for (size_t u = 0; u < slots; ++u) {
                double loss = own + prices_[u] - row[options_[u]];
                losses[u] = loss > 0 ? loss : 0;
            }
            for (size_t u = 0; u < slots; ++u)
                if (is_empty(options_[u]) || is_banned(known, v, options_[u]))
                    losses[u] = -kForbidden;
            if (!free_.empty()) {
                int16_t option = best_free(known, v);
                losses[slots] = option < 0 ? -kForbidden : std::max(own - row[option], 0.0);
            }
        }
        losses[v] = -kForbidden;
    }

    // Moves along the cycle through node 0.
    void move(Known& known, const std::vector<size_t>& before) const {
        size_t slots = options_.size(), to = 0;
        do {
            size_t v = before[to];
            if (v < slots)
                known.code[size_t(known.from) + v] = to < slots ? options_[to] : best_free(known, v);
            to = v;
        } while (to != 0);
    }

    // Raises the prices of the options nearer than the end of the cycle, so that no move gains; then
    // lowers all, so that free options have price 0 again.
    void raise(Known& known, const std::vector<double>& cost, double total) const {
        size_t slots = options_.size();
        double lower = free_.empty() ? 0 : std::max(total - cost[slots], 0.0);
        for (size_t v = 0; v < slots; ++v)
            if (!is_empty(options_[v]))
                known.price[size_t(options_[v])] += std::max(total - cost[v], 0.0) - lower;
        for (int16_t option : free_) known.price[size_t(option)] = 0;
    }
};

}  // namespace sparsewood
