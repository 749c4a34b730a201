// The k best structures of each instance (algorithm in kbest.h), one block per instance; each warp
// finds the best structure of one piece at a time. `Chosen` is the family, defined before this file
// is included.
//
// Each structure found, and the best structure of each remaining piece, has a place. Only as many
// pieces are kept as structures are still to be found. The options excluded from a piece form a
// chain through the places of the pieces that it was split from.
#pragma once

#include "cuda/oracle.cuh"

namespace sparsewood {

constexpr int kWarps = 8;

// A piece of the set of structures, and its best structure.
struct Place {
    double score;
    int fixed;   // number of slots that are fixed to the options of the code
    int banned;  // an option excluded for the next slot; -1: none
    int before;  // the place of the piece that holds further excluded options; -1: no more
    int rank;    // rank of a structure found; kWaits: waiting, kFree: unused
};

constexpr int kWaits = -1, kFree = -2;

template <class Family>
struct Search {
    int64_t k;
    int slots;
    double* table;   // (cells)
    Place* places;   // (k + 1)
    int16_t* codes;  // (k + 1, slots)
    int32_t* order;  // (k) places of the structures found, the best first
    Place* drafts;   // (kWarps) the pieces processed by the warps
    int16_t* drawn;  // (kWarps, slots)
    int32_t* state;  // (kStates)
    char* own;       // (kWarps, share) memory of each warp's oracle
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

// Whether one structure precedes another in the ranking; ties go to the smaller code.
__device__ inline bool comes_before(double a, const int16_t* code_a, double b,
                                    const int16_t* code_b, int slots) {
    if (a != b) return a > b;
    for (int i = 0; i < slots; ++i)
        if (code_a[i] != code_b[i]) return code_a[i] < code_b[i];
    return false;
}

// The first (or last) of the waiting places; -1: there is none.
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

// A warp that finds the best structures of pieces.
template <class Family>
struct Asker {
    Family& family;
    const Search<Family>& s;
    OracleMemory<Family> work;
    Place& piece;   // the current piece
    int16_t* code;  // (slots) its fixed options; then its best structure

    __device__ Asker(Family& of, const Search<Family>& search, int warp, Arena arena)
        : family(of), s(search), work(of, arena), piece(s.drafts[warp]),
          code(s.drawn + warp * s.slots) {}

    // The rest of the piece of a place in which `slot` is the first to differ from its best.
    __device__ bool ask_rest(Warp g, int place, int slot) {
        const Place& from = s.places[place];
        for (int i = g.lane(); i < s.slots; i += g.size()) code[i] = s.code(place)[i];
        g.sync();
        if (g.leader()) {
            int before = slot == from.fixed && from.banned >= 0 ? place : -1;
            piece = Place{0, slot, code[slot], before, kWaits};
        }
        g.sync();
        return ask(g);
    }

    // False when the piece is empty.
    __device__ bool ask(Warp g) {
        forbid(g);
        if (!family(g, work.table, work.code)) return false;
        for (int i = g.lane(); i < s.slots; i += g.size()) code[i] = work.code[i];
        double score = total(g);
        if (g.leader()) piece.score = score;
        g.sync();
        return true;
    }

  private:
    // Forbids the excluded options of the piece in the table.
    __device__ void forbid(Warp g) {
        double* table = work.table;
        for (int64_t c = g.lane(); c < cells(family); c += g.size()) table[c] = s.table[c];
        g.sync();
        for (int i = g.lane(); i < piece.fixed; i += g.size()) family.fix(table, i, code[i]);
        g.sync();
        if (g.leader() && piece.banned >= 0) {
            double* options = table + family.base(piece.fixed);
            options[piece.banned] = kForbidden;
            for (int p = piece.before; p >= 0; p = s.places[p].before)
                options[s.places[p].banned] = kForbidden;
        }
        g.sync();
    }

    // The score of the structure found, summed over slots in order, as on the CPU.
    __device__ double total(Warp g) {
        double score = 0;
        for (int start = 0; start < s.slots; start += g.size()) {
            int i = start + g.lane();
            double cell = i < s.slots ? s.table[family.base(i) + work.code[i]] : 0;
            for (int l = 0; l < g.size() && start + l < s.slots; ++l)
                score += __shfl_sync(Warp::kAll, cell, l);
        }
        return score;
    }
};

// Keeps the piece of a draft if it is among the best remaining pieces.
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

// First warp: reads the scores and finds the best structure. False if there is none.
template <class Family>
__device__ bool open(Warp g, Asker<Family>& asker, Numbers from) {
    using S = Search<Family>;
    const S& s = asker.s;
    if (read_scores(g, asker.family, from, 1.0, s.table).bad >= 0) return false;
    for (int p = g.lane(); p <= s.k; p += g.size()) s.places[p].rank = kFree;
    if (g.leader()) {
        for (int i = 0; i < S::kStates; ++i) s.state[i] = 0;
        s.state[S::kCalls] = 1;
        asker.piece = Place{0, 0, -1, -1, kWaits};
    }
    g.sync();
    if (!asker.ask(g)) return false;
    keep(g, s, asker.piece, asker.code);
    return true;
}

// First warp: takes the best waiting structure; kBest is -1 if there is none.
template <class Family>
__device__ void take_best(Warp g, const Search<Family>& s) {
    using S = Search<Family>;
    int best = pick(g, s, false);
    if (!g.leader()) return;
    s.state[S::kBest] = best;
    if (best < 0) return;
    int found = s.state[S::kFound]++;
    --s.state[S::kWaiting];
    s.places[best].rank = found;
    s.order[found] = best;
}

// All warps: splits the piece of the last structure found.
template <class Family>
__device__ void split(Warp g, int warp, Asker<Family>& asker) {
    using S = Search<Family>;
    __shared__ int exists[kWarps];
    const S& s = asker.s;
    int best = s.state[S::kBest], penalised = asker.family.penalised;
    for (int start = s.places[best].fixed; start < penalised; start += kWarps) {
        if (start + warp < penalised) {
            bool any = asker.ask_rest(g, best, start + warp);
            if (g.leader()) exists[warp] = any;
        }
        __syncthreads();
        if (warp == 0) {
            int count = penalised - start < kWarps ? penalised - start : kWarps;
            for (int w = 0; w < count; ++w)
                if (exists[w]) keep(g, s, s.drafts[w], s.drawn + w * s.slots);
            if (g.leader()) s.state[S::kCalls] += count;
        }
        __syncthreads();
    }
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

// structures: (batch, k, event), the best first, the last one repeated if there are fewer;
// totals: (batch, k) their scores, -inf for repetitions; calls: (batch) number of oracle calls;
// failed: set if an instance has no structure.
__global__ void kbest(SPARSEWOOD_PADDED, int64_t k, char* memory, int64_t share, int64_t event,
                      int64_t* structures, double* totals, int64_t* calls, int64_t* failed) {
    using namespace sparsewood;
    using S = Search<Chosen>;
    Padded given{SPARSEWOOD_PADDED_ARGUMENTS};
    int64_t b = blockIdx.x;
    Warp g;
    int warp = threadIdx.x / 32;
    Chosen family;
    if (!given.set_size(family, b)) {
        *failed = 1;
        return;
    }
    Arena arena{memory + b * share};
    S s(family, k, arena);
    Asker<Chosen> asker(family, s, warp, {s.own + warp * s.share, Warp::size()});
    __shared__ int opened;
    if (warp == 0) {
        bool any = open(g, asker, given.instance(b));
        if (g.leader()) opened = any;
    }
    __syncthreads();
    if (!opened) {
        *failed = 1;
        return;
    }
    while (true) {
        if (warp == 0) take_best(g, s);
        __syncthreads();
        if (s.state[S::kBest] < 0 || s.state[S::kFound] == k) break;
        split(g, warp, asker);
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
