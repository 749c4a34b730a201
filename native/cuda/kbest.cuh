// The k best structures of each instance (kbest.h says how): one block of warps to an instance, each
// of which asks for the best of one piece at a time. `Chosen` is the family, which the source says
// before it includes this.
//
// Every structure found, and the best of every piece that may still be wanted, has a place: of the
// pieces only as many as structures are still to be found, the best ones. What a piece may not
// choose is a chain through the places of the pieces that it was split from.
#pragma once

#include "cuda/oracle.cuh"

namespace sparsewood {

constexpr int kWarps = 8;

// A piece of the set of structures, and the best in it.
struct Place {
    double score;
    int fixed;    // so many slots are fixed to the options of the code
    int banned;   // an option that the next slot may not take; -1: any
    int before;   // the place of the piece that holds the other such options; -1: no more
    int rank;     // of a structure that was found; kWaits: not yet, kFree: nothing is here
};

constexpr int kWaits = -1, kFree = -2;

template <class Family>
struct Search {
    int64_t k;
    int slots;
    double* table;    // (cells)
    Place* places;    // (k + 1)
    int16_t* codes;   // (k + 1, slots)
    int32_t* order;   // (k) the places of those found, the best first
    Place* drafts;    // (kWarps) the pieces that the warps look at
    int16_t* drawn;   // (kWarps, slots)
    int32_t* state;   // (kStates)
    char* own;        // (kWarps, share) what the oracle of a warp works in
    int64_t share;

    enum { kFound, kWaiting, kCalls, kBest, kStates };

    __device__ Search(Family& family, int64_t wanted, Arena& arena) {
        k = wanted, slots = family.slots;
        table = arena.take<double>(cells(family));
        places = arena.take<Place>(k + 1);
        codes = arena.take<int16_t>((k + 1) * slots);
        order = arena.take<int32_t>(k);
        drafts = arena.take<Place>(kWarps);
        drawn = arena.take<int16_t>(kWarps * slots);
        state = arena.take<int32_t>(kStates);
        Arena measure{nullptr, Warp::size()};
        OracleMemory<Family> one(family, measure);
        share = measure.used;
        own = arena.take<char>(kWarps * share);
    }

    __device__ int16_t* code(int64_t place) const { return codes + place * slots; }
};

// Whether the structure of one place comes before that of another: ties by the smaller code.
__device__ inline bool comes_before(double a, const int16_t* code_a, double b,
                                    const int16_t* code_b, int slots) {
    if (a != b) return a > b;
    for (int i = 0; i < slots; ++i)
        if (code_a[i] != code_b[i]) return code_a[i] < code_b[i];
    return false;
}

// The place that comes first (or last) of those that wait; -1: none does.
template <class Family>
__device__ int pick(Warp g, const Search<Family>& s, bool last) {
    int at = -1;
    auto replaces = [&](int p, int q) {  // by p the choice q
        if (p < 0 || q < 0) return p >= 0;
        const Place &one = s.places[last ? q : p], &other = s.places[last ? p : q];
        return p != q && comes_before(one.score, s.code(last ? q : p), other.score,
                                      s.code(last ? p : q), s.slots);
    };
    for (int p = g.lane(); p <= s.k; p += g.size())
        if (s.places[p].rank == kWaits && replaces(p, at)) at = p;
    for (int d = 16; d > 0; d >>= 1) {
        int other = __shfl_xor_sync(Warp::kAll, at, d);
        if (replaces(other, at)) at = other;
    }
    return at;
}

// The best of a piece in places[draft], whose code says what is fixed: false when it is empty.
// Its score is the sum over slots in their order, as on the CPU.
template <class Family>
__device__ bool ask(Warp g, Family& family, const Search<Family>& s, double* copy, int16_t* found,
                    Place& piece, int16_t* code) {
    for (int64_t c = g.lane(); c < cells(family); c += g.size()) copy[c] = s.table[c];
    g.sync();
    for (int i = g.lane(); i < piece.fixed; i += g.size()) family.fix(copy, i, code[i]);
    g.sync();
    if (g.leader()) {
        int64_t base = piece.fixed < family.penalised ? family.base(piece.fixed) : 0;
        if (piece.banned >= 0) copy[base + piece.banned] = kForbidden;
        for (int p = piece.before; p >= 0; p = s.places[p].before)
            copy[base + s.places[p].banned] = kForbidden;
    }
    g.sync();
    if (!family(g, copy, found)) return false;
    double score = 0;
    for (int start = 0; start < s.slots; start += g.size()) {
        int i = start + g.lane();
        double cell = i < s.slots ? s.table[family.base(i) + found[i]] : 0;
        for (int l = 0; l < g.size() && start + l < s.slots; ++l)
            score += __shfl_sync(Warp::kAll, cell, l);
    }
    for (int i = g.lane(); i < s.slots; i += g.size()) code[i] = found[i];
    if (g.leader()) piece.score = score;
    g.sync();
    return true;
}

// Keeps the piece of a draft where it is among those that can still be wanted.
template <class Family>
__device__ void keep(Warp g, const Search<Family>& s, const Place& draft, const int16_t* code) {
    using S = Search<Family>;
    int most = static_cast<int>(s.k) - s.state[S::kFound], waiting = s.state[S::kWaiting], at = -1;
    if (most <= 0) return;
    if (waiting >= most) {
        at = pick(g, s, true);
        if (!comes_before(draft.score, code, s.places[at].score, s.code(at), s.slots)) return;
    } else {
        for (int start = 0; at < 0; start += g.size()) {
            int p = start + g.lane();
            unsigned open = __ballot_sync(Warp::kAll, p <= s.k && s.places[p].rank == kFree);
            if (open) at = start + __ffs(static_cast<int>(open)) - 1;
        }
    }
    g.sync();
    for (int i = g.lane(); i < s.slots; i += g.size()) s.code(at)[i] = code[i];
    if (g.leader()) {
        s.places[at] = draft;
        s.places[at].rank = kWaits;
        s.state[S::kWaiting] = waiting < most ? waiting + 1 : waiting;
    }
    g.sync();
}

}  // namespace sparsewood

extern "C" {

// The bytes that an instance of full size needs, and its threads.
__global__ void measure(SPARSEWOOD_PADDED, int64_t k, int64_t* found) {
    using namespace sparsewood;
    Padded given{SPARSEWOOD_PADDED_ARGUMENTS};
    Chosen family;
    family.set_size(given.full, given.shape, given.options);
    Arena arena{nullptr};
    Search<Chosen> search(family, k, arena);
    found[0] = arena.used, found[1] = kWarps * 32;
}

// structures: (batch, k, event), the best first, the last one repeated where there are fewer;
// totals: (batch, k) their scores, -inf for what is repeated; calls: (batch) of the oracle; failed:
// set where an instance has no structure.
__global__ void kbest(SPARSEWOOD_PADDED, int64_t k, char* memory, int64_t share, int64_t event,
                      int64_t* structures, double* totals, int64_t* calls, int64_t* failed) {
    using namespace sparsewood;
    using S = Search<Chosen>;
    Padded given{SPARSEWOOD_PADDED_ARGUMENTS};
    int64_t b = blockIdx.x;
    Warp g;
    int warp = threadIdx.x / 32;
    Chosen family;
    bool usable = given.set_size(family, b);
    if (!usable) {
        *failed = 1;
        return;
    }
    Arena arena{memory + b * share};
    S s(family, k, arena);
    Arena own{s.own + warp * s.share, Warp::size()};
    OracleMemory<Chosen> work(family, own);
    Place& draft = s.drafts[warp];
    int16_t* drawn = s.drawn + warp * s.slots;
    __shared__ int bad, usable_draft[kWarps];
    if (warp == 0) {
        bool wrong = read_scores(g, family, given.instance(b), 1.0, s.table).bad >= 0;
        for (int p = g.lane(); p <= k; p += g.size()) s.places[p].rank = kFree;
        if (g.leader()) {
            bad = wrong;
            for (int i = 0; i < S::kStates; ++i) s.state[i] = 0;
            draft = {0, 0, -1, -1, kWaits};
        }
        g.sync();
        if (!wrong) {
            bool any = ask(g, family, s, work.table, work.code, draft, drawn);
            if (any) keep(g, s, draft, drawn);
            if (g.leader()) bad = !any, s.state[S::kCalls] = 1;
        }
    }
    __syncthreads();
    if (bad) {
        *failed = 1;
        return;
    }
    while (true) {
        // The best of what waits is found. Its piece is split by the first slot that differs.
        if (warp == 0) {
            int best = pick(g, s, false);
            if (g.leader()) {
                s.state[S::kBest] = best;
                if (best >= 0) {
                    int found = s.state[S::kFound]++;
                    --s.state[S::kWaiting];
                    s.places[best].rank = found;
                    s.order[found] = best;
                }
            }
        }
        __syncthreads();
        int best = s.state[S::kBest];
        if (best < 0 || s.state[S::kFound] == k) break;
        int first = s.places[best].fixed;
        for (int start = first; start < family.penalised; start += kWarps) {
            int slot = start + warp;
            if (slot < family.penalised) {
                for (int i = g.lane(); i < s.slots; i += g.size()) drawn[i] = s.code(best)[i];
                g.sync();
                if (g.leader()) {
                    const Place& from = s.places[best];
                    int before = slot == first && from.banned >= 0 ? best : -1;
                    draft = {0, slot, drawn[slot], before, kWaits};
                }
                g.sync();
                bool any = ask(g, family, s, work.table, work.code, draft, drawn);
                if (g.leader()) usable_draft[warp] = any;
            }
            __syncthreads();
            if (warp == 0) {
                int count = family.penalised - start < kWarps ? family.penalised - start : kWarps;
                for (int w = 0; w < count; ++w)
                    if (usable_draft[w]) keep(g, s, s.drafts[w], s.drawn + w * s.slots);
                if (g.leader()) s.state[S::kCalls] += count;
            }
            __syncthreads();
        }
    }
    int found = s.state[S::kFound];
    for (int64_t r = warp; r < k; r += kWarps) {
        const int16_t* code = s.code(s.order[r < found ? r : found - 1]);
        family.event(g, code, structures + (b * k + r) * event);
        double total = total_score(g, family, given.instance(b), code);
        if (g.leader()) totals[b * k + r] = r < found ? total : kForbidden;
    }
    if (threadIdx.x == 0) calls[b] = s.state[S::kCalls];
}

}  // extern "C"
