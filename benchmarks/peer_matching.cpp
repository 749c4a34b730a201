// Worker: SparseMAP over matchings by the active set method of lp-sparsemap (its GenericFactor),
// which has no matching factor of its own. It is given an oracle: the Hungarian method as textbooks
// have it, or ours.
//
//     peer_matching IN OUT
//
// IN holds, as doubles: the batch, n, the most iterations, 1 for our oracle, then scores (batch, n,
// n). OUT gets for each instance the seconds of the solve alone, the size of the support, and
// marginals (n, n).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "ad3/FactorGraph.h"
#include "ad3/GenericFactor.h"
#include "matching.h"

namespace {

using Code = std::vector<int16_t>;

// The Hungarian method, O(n^3): code[i] <- the column of row i in the best matching.
void hungarian(const std::vector<double>& scores, int n, Code& code) {
    const double far = 1e300;
    std::vector<double> u(n + 1), v(n + 1), least(n + 1);
    std::vector<int> row(n + 1), way(n + 1);
    std::vector<char> used(n + 1);
    for (int i = 1; i <= n; ++i) {
        std::fill(least.begin(), least.end(), far);
        std::fill(used.begin(), used.end(), 0);
        int at = 0;
        for (row[0] = i; row[at] != 0;) {
            used[at] = 1;
            int from = row[at], next = 0;
            double step = far;
            for (int j = 1; j <= n; ++j) {
                if (used[j]) continue;
                double cost = -scores[(from - 1) * n + j - 1] - u[from] - v[j];
                if (cost < least[j]) least[j] = cost, way[j] = at;
                if (least[j] < step) step = least[j], next = j;
            }
            for (int j = 0; j <= n; ++j)
                used[j] ? (u[row[j]] += step, v[j] -= step) : least[j] -= step;
            at = next;
        }
        for (; at != 0; at = way[at]) row[at] = row[way[at]];
    }
    for (int j = 1; j <= n; ++j) code[row[j] - 1] = static_cast<int16_t>(j - 1);
}

class Matchings : public AD3::GenericFactor {
  public:
    Matchings(int n, bool ours) : side_(n), ours_(ours) {
        int64_t size[2] = {n, n}, option = 0;
        oracle_.set_size(size, size, &option);
        sparsewood::Arena measure{nullptr};
        oracle_.lay_out(measure);
        memory_.resize(static_cast<size_t>(measure.used) + 64);
    }
    ~Matchings() override { ClearActiveSet(); }

    void Maximize(const std::vector<double>& scores, const std::vector<double>&,
                  AD3::Configuration& best, double* value) override {
        if (ours_)
            ask_ours(scores, code(best));
        else
            hungarian(scores, side_, code(best));
        Evaluate(scores, {}, best, value);
    }
    void Evaluate(const std::vector<double>& scores, const std::vector<double>&,
                  const AD3::Configuration h, double* value) override {
        *value = 0;
        for (int i = 0; i < side_; ++i) *value += scores[part(h, i)];
    }
    void UpdateMarginalsFromConfiguration(const AD3::Configuration& h, double weight,
                                          std::vector<double>* marginals,
                                          std::vector<double>*) override {
        for (int i = 0; i < side_; ++i) (*marginals)[part(h, i)] += weight;
    }
    int CountCommonValues(const AD3::Configuration& a, const AD3::Configuration& b) override {
        int count = 0;
        for (int i = 0; i < side_; ++i) count += part(a, i) == part(b, i);
        return count;
    }
    bool SameConfiguration(const AD3::Configuration& a, const AD3::Configuration& b) override {
        return code(a) == code(b);
    }
    AD3::Configuration CreateConfiguration() override { return new Code(side_); }
    void DeleteConfiguration(AD3::Configuration h) override { delete static_cast<Code*>(h); }

  private:
    int side_;
    bool ours_;
    sparsewood::Matching<false> oracle_;
    std::vector<char> memory_;

    void ask_ours(const std::vector<double>& scores, Code& best) {
        auto address = reinterpret_cast<uintptr_t>(memory_.data());
        sparsewood::Arena arena{reinterpret_cast<char*>((address + 63) / 64 * 64)};
        oracle_.lay_out(arena);
        oracle_(sparsewood::Thread{}, scores.data(), best.data());
    }

    static Code& code(AD3::Configuration h) { return *static_cast<Code*>(h); }
    size_t part(AD3::Configuration h, int row) const {
        return static_cast<size_t>(row * side_ + code(h)[static_cast<size_t>(row)]);
    }
};

}  // namespace

int main(int, char** files) {
    double head[4];
    FILE* in = std::fopen(files[1], "rb");
    FILE* out = std::fopen(files[2], "wb");
    if (!in || !out || std::fread(head, sizeof(double), 4, in) != 4) return 1;
    int batch = static_cast<int>(head[0]), n = static_cast<int>(head[1]);
    std::vector<double> scores(static_cast<size_t>(n) * n), marginals, none;
    for (int b = 0; b < batch; ++b) {
        if (std::fread(scores.data(), sizeof(double), scores.size(), in) != scores.size()) return 1;
        AD3::FactorGraph graph;
        std::vector<AD3::BinaryVariable*> variables;
        for (size_t v = 0; v < scores.size(); ++v)
            variables.push_back(graph.CreateBinaryVariable());
        auto* factor = new Matchings(n, head[3] == 1);
        graph.DeclareFactor(factor, variables, {}, true);
        factor->SetVerbosity(0);
        factor->SetQPMaxIter(static_cast<int>(head[2]));
        auto start = std::chrono::steady_clock::now();
        factor->SolveQP(scores, {}, &marginals, &none);
        std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        double stats[2] = {seconds.count(), double(factor->GetQPActiveSet().size())};
        std::fwrite(stats, sizeof(double), 2, out);
        std::fwrite(marginals.data(), sizeof(double), marginals.size(), out);
    }
    std::fclose(out);
    std::fclose(in);
}
