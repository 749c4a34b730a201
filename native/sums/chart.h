// Sums over all structures of a family, marginals, their derivatives and samples, by one pass over
// a chart in each direction.
//
// A chart is an array of cells, each a sum over partial structures. The first `parts` cells hold
// the parts. A node is a sum over alternatives m, each a product of two earlier cells,
//
//     total = sum_m cell[a + m] cell[b + m]        (1 if count = 0)
//
// which is written to the cells of its heads, times a part if the head has one. A cell may be
// stored several times, so that the rows of all nodes are contiguous.
//
// Backwards, the flow into a node is the probability that a structure uses it; each alternative
// takes its share. All is positive, so every result has full relative accuracy.
//
// A family is a struct that has
//
// - parts, cells, goal: how many there are, and the cell that sums all structures
// - log_count, used: bounds on the logarithm of the number of structures and on the parts of one
// - labels: each part is the sum over so many scores, contiguous in the caller's array
// - set_size(size, shape): for an instance of `size` in an array of `shape` (batch not included)
// - each_part(g, f): calls f(cell, part in the caller's array)
// - each_node<Back>(f): calls f(node) after all nodes that it reads, or if Back in reverse
#pragma once

#include "sums/numbers.h"
#include "sums/uniform.h"

namespace sparsewood {

// The cells cell + r step, r < copies; part is -1 without one.
struct Head {
    int64_t cell, step;
    int copies;
    int64_t part;
};

struct Node {
    int64_t a, b;
    int count, heads;
    Head head[2];
};

template <class Family>
class Chart {
  public:
    Family family;

    SPARSEWOOD_HD void lay_out(Arena& arena, bool with_rates) {
        cells_ = arena.take<double>(family.cells);
        tops_ = arena.take<double>(family.cells);
        sums_ = arena.take<double>(family.cells);
        flows_ = arena.take<double>(family.cells);
        if (family.labels > 1) shares_ = arena.take<double>(family.parts * family.labels);
        if (!with_rates) return;
        rates_ = arena.take<double>(family.cells);
        flow_rates_ = arena.take<double>(family.cells);
    }

    // The logarithm of the sum over all structures.
    template <class G>
    SPARSEWOOD_HD double sum(const G& g, const double* scores) {
        double top = read(g, scores);
        double largest = family.log_count + family.used * (top > 0 ? top : 0);
        weights_ = top <= kLargestScore && largest < kLargestLog;
        if (weights_) {
            exponentiate(g, cells_, family.parts);
            add_up_all<Weights>(g);
            double total = cells_[family.goal];
            if (total > kTiny && total < kHuge) return log(total);
            weights_ = false;
            read(g, scores);
        }
        add_up_all<Logs>(g);
        return cells_[family.goal];
    }

    // After sum(): how probable each score's part is. Padding is not written to.
    template <class G>
    SPARSEWOOD_HD void marginals(const G& g, double* out) {
        weights_ ? flow_down<Weights, false>(g) : flow_down<Logs, false>(g);
        write(g, nullptr, out);
    }

    // After sum(): the derivative of the marginals along `direction`.
    template <class G>
    SPARSEWOOD_HD void hessian(const G& g, const double* direction, double* out) {
        read_rates(g, direction);
        weights_ ? find_rates<Weights>(g) : find_rates<Logs>(g);
        weights_ ? flow_down<Weights, true>(g) : flow_down<Logs, true>(g);
        write(g, direction, out);
    }

    // After sum(): one structure, as ones in `out`, which is 0 before; one lane's work. `used` has
    // room for a mark per cell.
    SPARSEWOOD_HD void sample(uint64_t seed, uint8_t* used, double* out) const {
        Uniform uniform{seed};
        weights_ ? walk<Weights>(uniform, used) : walk<Logs>(uniform, used);
        family.each_part(Single{}, [&](int64_t cell, int64_t part) {
            if (used[cell]) out[part * family.labels + pick_label(cell, uniform)] = 1;
        });
    }

  private:
    // Between these a sum of weights is far enough from underflow and overflow that what is lost on
    // the way does not count: every other number is then below e^kLargestLog.
    static constexpr double kTiny = 1e-100, kHuge = 1e100, kLargestLog = 345, kLargestScore = 1;
    static constexpr int kPoll = 1024;  // nodes between two polls

    template <class G>
    SPARSEWOOD_HD double read(const G& g, const double* scores) {
        for (int64_t c = g.lane(); c < family.parts; c += g.size()) cells_[c] = kNone;
        g.sync();
        if (family.labels > 1) add_labels(g, scores);
        double top = kNone;
        family.each_part(g, [&](int64_t cell, int64_t part) {
            double score = family.labels == 1 ? scores[part] : tops_[cell] + log(sums_[cell]);
            cells_[cell] = score;
            top = score > top ? score : top;
        });
        g.sync();
        return g.max(top);
    }

    // The sums over the labels of parts, and the terms of these sums in `shares_`.
    template <class G>
    SPARSEWOOD_HD void add_labels(const G& g, const double* scores) {
        int labels = family.labels;
        int64_t count = family.parts * labels;
        for (int64_t c = g.lane(); c < count; c += g.size()) shares_[c] = 0;
        g.sync();
        family.each_part(g, [&](int64_t cell, int64_t part) {
            const double* from = scores + part * labels;
            double top = from[0];
            for (int k = 1; k < labels; ++k) top = from[k] > top ? from[k] : top;
            for (int k = 0; k < labels; ++k) shares_[cell * labels + k] = from[k] - top;
            tops_[cell] = top;
        });
        g.sync();
        exponentiate(g, shares_, count);
        family.each_part(g, [&](int64_t cell, int64_t) {
            double sum = 0;
            for (int k = 0; k < labels; ++k) sum += shares_[cell * labels + k];
            sums_[cell] = sum;
        });
        g.sync();
    }

    template <class G>
    SPARSEWOOD_HD void exponentiate(const G& g, double* x, int64_t count) const {
#ifndef __CUDACC__
        if (G::kLanes == 1) {
            terms::exponentiate(x, count);
            return;
        }
#endif
        for (int64_t c = g.lane(); c < count; c += g.size()) x[c] = exp(x[c]);
        g.sync();
    }

    SPARSEWOOD_HD int pick_label(int64_t cell, Uniform& uniform) const {
        if (family.labels == 1) return 0;
        const double* shares = shares_ + cell * family.labels;
        double left = uniform() * sums_[cell];
        int last = 0;
        for (int k = 0; k < family.labels; ++k) {
            if (!(shares[k] > 0)) continue;
            last = k;
            left -= shares[k];
            if (left < 0) break;
        }
        return last;
    }

    template <class Number, class G>
    SPARSEWOOD_HD void add_up_all(const G& g) {
        for (int64_t c = family.parts + g.lane(); c < family.cells; c += g.size())
            cells_[c] = Number::kZero;
        g.sync();
        int64_t nodes = 0;
        family.template each_node<false>([&](const Node& node) {
            if (++nodes % kPoll == 0) g.poll();
            Total total{0, 1};
            if (node.count > 0) total = add_up<Number>(g, pieces(node));
            if (g.leader()) {
                double value = node.count > 0 ? Number::value(total) : Number::kOne;
                tops_[node.head[0].cell] = total.top, sums_[node.head[0].cell] = total.sum;
                for (int h = 0; h < node.heads; ++h) {
                    const Head& head = node.head[h];
                    double x = head.part < 0 ? value : Number::times(value, cells_[head.part]);
                    for (int r = 0; r < head.copies; ++r) cells_[head.cell + r * head.step] = x;
                }
            }
            g.sync();
        });
    }

    template <class Number, class G>
    SPARSEWOOD_HD void find_rates(const G& g) {
        for (int64_t c = family.parts + g.lane(); c < family.cells; c += g.size()) rates_[c] = 0;
        g.sync();
        int64_t nodes = 0;
        family.template each_node<false>([&](const Node& node) {
            if (++nodes % kPoll == 0) g.poll();
            double rate = 0;
            Total total = total_of(node);
            if (node.count > 0 && Number::is_usable(total))
                rate = mean_rate<Number>(g, pieces(node), total, rates_ + node.a, rates_ + node.b);
            if (g.leader())
                for (int h = 0; h < node.heads; ++h) {
                    const Head& head = node.head[h];
                    double x = head.part < 0 ? rate : rate + rates_[head.part];
                    for (int r = 0; r < head.copies; ++r) rates_[head.cell + r * head.step] = x;
                }
            g.sync();
        });
    }

    template <class Number, bool kRates, class G>
    SPARSEWOOD_HD void flow_down(const G& g) {
        for (int64_t c = g.lane(); c < family.cells; c += g.size()) flows_[c] = 0;
        if (kRates)
            for (int64_t c = g.lane(); c < family.cells; c += g.size()) flow_rates_[c] = 0;
        g.sync();
        if (g.leader()) flows_[family.goal] = 1;
        g.sync();
        int64_t nodes = 0;
        family.template each_node<true>([&](const Node& node) {
            if (++nodes % kPoll == 0) g.poll();
            double flow = gather(g, node, flows_), flow_rate = 0;
            if (kRates) flow_rate = gather(g, node, flow_rates_);
            Total total = total_of(node);
            if (node.count > 0 && (flow > 0 || flow_rate != 0) && Number::is_usable(total)) {
                if (kRates)
                    spread_rate<Number>(g, pieces(node), total, flow, flow_rate, rate_of(node),
                                        rates_ + node.a, rates_ + node.b, flow_rates_ + node.a,
                                        flow_rates_ + node.b);
                spread<Number>(g, pieces(node), total, flow, flows_ + node.a, flows_ + node.b);
            }
            g.sync();
        });
    }

    // What reaches a node through its heads, which is handed on to their parts.
    template <class G>
    SPARSEWOOD_HD double gather(const G& g, const Node& node, double* flows) const {
        double all = 0;
        for (int h = 0; h < node.heads; ++h) {
            const Head& head = node.head[h];
            double flow = 0;
            for (int r = 0; r < head.copies; ++r) flow += flows[head.cell + r * head.step];
            if (head.part >= 0 && g.leader()) flows[head.part] += flow;
            all += flow;
        }
        return all;
    }

    // The rate of a node's total, from that of its first head.
    SPARSEWOOD_HD double rate_of(const Node& node) const {
        double rate = rates_[node.head[0].cell];
        return node.head[0].part < 0 ? rate : rate - rates_[node.head[0].part];
    }

    SPARSEWOOD_HD Pieces pieces(const Node& node) const {
        return {cells_ + node.a, cells_ + node.b, node.count};
    }
    SPARSEWOOD_HD Total total_of(const Node& node) const {
        return {tops_[node.head[0].cell], sums_[node.head[0].cell]};
    }

    template <class G>
    SPARSEWOOD_HD void read_rates(const G& g, const double* direction) {
        for (int64_t c = g.lane(); c < family.parts; c += g.size()) rates_[c] = 0;
        g.sync();
        int labels = family.labels;
        family.each_part(g, [&](int64_t cell, int64_t part) {
            double rate = labels == 1 ? direction[part] : 0;
            for (int k = 0; labels > 1 && k < labels; ++k)
                rate += shares_[cell * labels + k] / sums_[cell] * direction[part * labels + k];
            rates_[cell] = rate;
        });
        g.sync();
    }

    // The flows of the parts, or with a direction their rates, divided among labels.
    template <class G>
    SPARSEWOOD_HD void write(const G& g, const double* direction, double* out) const {
        int labels = family.labels;
        family.each_part(g, [&](int64_t cell, int64_t part) {
            if (labels == 1) {
                out[part] = direction ? flow_rates_[cell] : flows_[cell];
                return;
            }
            double factor = 1 / sums_[cell];
            for (int k = 0; k < labels; ++k) {
                double share = shares_[cell * labels + k] * factor, x = flows_[cell];
                if (direction)
                    x = flow_rates_[cell] + x * (direction[part * labels + k] - rates_[cell]);
                out[part * labels + k] = share * x;
            }
        });
        g.sync();
    }

    // Marks the cells of one structure, from the goal down.
    template <class Number>
    SPARSEWOOD_HD void walk(Uniform& uniform, uint8_t* used) const {
        for (int64_t c = 0; c < family.cells; ++c) used[c] = 0;
        used[family.goal] = 1;
        family.template each_node<true>([&](const Node& node) {
            bool here = false;
            for (int h = 0; h < node.heads; ++h) {
                const Head& head = node.head[h];
                bool its = false;
                for (int r = 0; r < head.copies; ++r) its |= used[head.cell + r * head.step] != 0;
                if (its && head.part >= 0) used[head.part] = 1;
                here |= its;
            }
            if (!here || node.count == 0) return;
            int m = node.count > 1 ? pick<Number>(pieces(node), total_of(node), uniform()) : 0;
            used[node.a + m] = used[node.b + m] = 1;
        });
    }

    bool weights_ = true;
    double *cells_, *tops_, *sums_;  // the totals by the first cell of each node, or by part
    double* flows_;
    double* shares_ = nullptr;  // of the labels of parts
    double *rates_ = nullptr, *flow_rates_ = nullptr;
};

}  // namespace sparsewood
