// Exact samples of non-projective dependency trees.
//
// Wilson (1996, "Generating random spanning trees more quickly than the cover time"): from each
// word a random walk from head to head until it meets the tree, its loops erased. The loops are
// independent of the tree, so a walk that takes too long, as between words that prefer each other to
// all else, may be given up for another exact method: word by word, each head drawn from its
// probability given the heads before it. That is the weight of the arc times the probability that a
// walk from there reaches the root before the word, known after all other words were eliminated
// (Grassmann, Taksar & Heyman 1985, without subtractions); then the word is merged with its head.
//
// With a single root its child is drawn first, and is the root of the rest. The trees in which that
// is word r weigh as much as the arc from the root times the stationary distribution at r of walks
// among the words (the Markov chain tree theorem).
#pragma once

#include "sums/numbers.h"
#include "sums/uniform.h"

namespace sparsewood {

class TreeSamples {
  public:
    int words, side;  // side = words + 1, columns of the root and all words

    // What the samples of a sentence share.
    SPARSEWOOD_HD void lay_out(Arena& arena, int n) {
        words = n, side = n + 1;
        weights_ = arena.take<double>(int64_t(n) * side);
        sums_ = arena.take<double>(int64_t(n) * side);
        table_ = arena.take<double>(int64_t(n) * side);
        roots_ = arena.take<double>(n);
    }

    // What one sample needs.
    SPARSEWOOD_HD void lay_out_sample(Arena& arena, int n) {
        int64_t cells = int64_t(n) * (n + 1);
        merged_ = arena.take<double>(cells);
        rest_ = arena.take<double>(cells);
        escape_ = arena.take<double>(n + 1);
        owner_ = arena.take<int>(n + 1);
        next_ = arena.take<int>(n + 1);
    }

    // Scores (words, ...) with rows of `width`. With a single root the weights leave its arcs out.
    template <class G>
    SPARSEWOOD_HD void read(const G& g, const double* scores, int64_t width, bool single_root) {
        single_root_ = single_root;
        for (int i = g.lane(); i < words; i += g.size()) {
            const double* from = scores + i * width;
            double top = kNone, sum = 0;
            for (int j = single_root; j <= words; ++j) top = from[j] > top ? from[j] : top;
            for (int j = 0; j <= words; ++j) {
                bool read = !(single_root && j == 0) && j != i + 1 && top > kNone / 2;
                double weight = read ? exp(from[j] - top) : 0;
                weights_[at(i, j)] = weight;
                sums_[at(i, j)] = sum += weight;
                table_[at(i, j)] = weight;
            }
            roots_[i] = from[0] - top;
        }
        g.sync();
        if (single_root) has_roots_ = find_roots(g);
    }

    // The heads (words) of one tree. False when the weights underflow.
    SPARSEWOOD_HD bool draw(Uniform& uniform, int64_t* heads) {
        if (single_root_ && !has_roots_) return false;
        int root = single_root_ ? 1 + pick_word(roots_, uniform) : 0;
        return walk(root, uniform, heads) || eliminate(root, uniform, heads);
    }

  private:
    SPARSEWOOD_HD int64_t at(int word, int head) const { return int64_t(word) * side + head; }

    // The probability of each word to be the root's child, up to a factor, out of the logarithms of
    // the weights of these arcs. False when the weights underflow.
    template <class G>
    SPARSEWOOD_HD bool find_roots(const G& g) {
        for (int k = words - 1; k > 0; --k) {
            double total = 0;
            for (int j = 1; j <= k; ++j) total += table_[at(k, j)];
            if (!(total > kTiny)) return false;
            for (int i = g.lane(); i < k; i += g.size()) {
                double factor = table_[at(i, k + 1)] / total;
                table_[at(i, k + 1)] = factor;
                for (int j = 1; j <= k; ++j) table_[at(i, j)] += factor * table_[at(k, j)];
                table_[at(i, i + 1)] = 0;
            }
            g.sync();
        }
        double best = roots_[0], sum = 0;
        for (int k = 1; k < words; ++k) best = roots_[k] > best ? roots_[k] : best;
        g.sync();
        for (int k = 0; k < words; ++k) {
            double visits = k == 0;  // kept in the column of the root
            for (int i = 0; i < k; ++i) visits += table_[at(i, 0)] * table_[at(i, k + 1)];
            double share = visits * exp(roots_[k] - best);
            g.sync();
            if (g.leader()) table_[at(k, 0)] = visits, roots_[k] = share;
            g.sync();
            sum += share;
        }
        return sum > kTiny && sum < 1 / kTiny;
    }

    SPARSEWOOD_HD int pick_word(const double* shares, Uniform& uniform) const {
        double sum = 0;
        for (int i = 0; i < words; ++i) sum += shares[i];
        double left = uniform() * sum;
        int last = 0;
        for (int i = 0; i < words; ++i) {
            if (!(shares[i] > 0)) continue;
            last = i;
            left -= shares[i];
            if (left < 0) break;
        }
        return last;
    }

    // As many steps take about as long as drawing the heads one after another.
    SPARSEWOOD_HD int64_t patience() const { return 200 + int64_t(words) * words * words / 10; }

    SPARSEWOOD_HD bool walk(int root, Uniform& uniform, int64_t* heads) {
        int* in_tree = owner_;
        for (int j = 0; j <= words; ++j) in_tree[j] = j == root;
        int64_t left = patience();
        for (int start = 1; start <= words; ++start) {
            int here = start;
            for (; !in_tree[here]; here = next_[here]) {
                if (--left < 0) return false;
                next_[here] = step(here, uniform);
                if (next_[here] < 0) return false;
            }
            for (here = start; !in_tree[here]; here = next_[here]) in_tree[here] = 1;
        }
        for (int i = 1; i <= words; ++i) heads[i - 1] = i == root ? 0 : next_[i];
        return true;
    }

    // A head of a word by its weight; -1: it has none.
    SPARSEWOOD_HD int step(int word, Uniform& uniform) const {
        const double* sums = sums_ + at(word - 1, 0);
        double whole = sums[words], drawn = uniform() * whole;
        if (!(whole > 0)) return -1;
        int low = 0, high = words;  // the first sum above what was drawn
        while (low < high) {
            int middle = (low + high) / 2;
            if (sums[middle] > drawn)
                high = middle;
            else
                low = middle + 1;
        }
        return low;
    }

    // `merged_` has the weights from words that have no head yet to the owners of heads, the words
    // that those which have a head were merged with; the root is owner 0.
    SPARSEWOOD_HD bool eliminate(int root, Uniform& uniform, int64_t* heads) {
        for (int64_t c = 0; c < int64_t(words) * side; ++c) merged_[c] = weights_[c];
        for (int j = 0; j <= words; ++j) owner_[j] = j;
        if (root > 0) {
            heads[root - 1] = 0;
            merge(root, 0);
        }
        for (int word = 1; word <= words; ++word) {
            if (word == root) continue;
            if (!find_escapes(word, root)) return false;
            int head = pick_head(word, uniform);
            if (head < 0) return false;
            heads[word - 1] = head;
            merge(word, owner_[head]);
        }
        return true;
    }

    SPARSEWOOD_HD void merge(int word, int owner) {
        for (int j = 0; j <= words; ++j)
            if (owner_[j] == word) owner_[j] = owner;
        for (int i = 0; i < words; ++i) {
            merged_[at(i, owner)] += merged_[at(i, word)];
            merged_[at(i, word)] = 0;
        }
        if (owner > 0) merged_[at(owner - 1, owner)] = 0;
    }

    // The probability of a walk from each later word to reach the root before `word`.
    SPARSEWOOD_HD bool find_escapes(int word, int root) {
        for (int64_t c = at(word - 1, 0); c < int64_t(words) * side; ++c) rest_[c] = merged_[c];
        for (int k = words; k > word; --k) {
            if (k == root) continue;
            double *shares = rest_ + at(k - 1, 0), total = shares[0];
            for (int j = word; j < k; ++j) total += shares[j];
            if (!(total > kTiny)) return false;
            double inverse = 1 / total;
            shares[0] *= inverse;
            for (int j = word; j < k; ++j) shares[j] *= inverse;
            for (int i = word; i < k; ++i) {
                double *heads = rest_ + at(i - 1, 0), factor = heads[k];
                if (i == root || factor == 0) continue;
                heads[0] += factor * shares[0];
                for (int j = word; j < k; ++j) heads[j] += factor * shares[j];
                heads[i] = 0;
            }
        }
        escape_[0] = 1, escape_[word] = 0;
        for (int k = word + 1; k <= words; ++k) {
            const double* shares = rest_ + at(k - 1, 0);
            double sum = shares[0];
            for (int j = word; j < k; ++j) sum += shares[j] * escape_[j];
            escape_[k] = k == root ? 0 : sum;
        }
        return true;
    }

    SPARSEWOOD_HD int pick_head(int word, Uniform& uniform) const {
        const double* weights = weights_ + at(word - 1, 0);
        auto share = [&](int j) { return j == word ? 0 : weights[j] * escape_[owner_[j]]; };
        double sum = 0;
        for (int j = 0; j <= words; ++j) sum += share(j);
        if (!(sum > kTiny)) return -1;
        double left = uniform() * sum;
        int last = -1;
        for (int j = 0; j <= words; ++j) {
            if (!(share(j) > 0)) continue;
            last = j;
            left -= share(j);
            if (left < 0) break;
        }
        return last;
    }

    static constexpr double kTiny = 1e-200;
    bool single_root_ = false, has_roots_ = false;
    double *weights_, *sums_;   // by word and head; the latter cumulative
    double *table_, *roots_;    // for the child of a single root
    double *merged_, *rest_;    // of one sample
    double* escape_;
    int *owner_, *next_;
};

}  // namespace sparsewood
