// Builds the forest of a batch of trees on the device; see native/forest/forest.h.
//
// A node is identified by a hash of its word and its children's hashes; the first (tree, word) with
// a hash represents all. Their equality is verified edge by edge. All sums are over integers and
// ties go to the first, so the result is deterministic.
//
// Five launches, with one warp per tree except in `scan`:  read  share  scan  number  link
#pragma once

#include "cuda/scan.cuh"

namespace sparsewood {

// The numbers that the host reads back, followed by one number per level: its nodes in the upper,
// its edges in the lower 32 bits.
enum ForestNumber { kFailed, kTreeNodes, kWords, kTop, kLevels };

// The trees, scratch memory and the arrays of the forest. A tree has `m` words, of which 0 is its
// root; (t, w) is at t * m + w.
struct ForestOnDevice {
    const int64_t *heads, *lengths, *instance;  // (trees, width), (sentences), (trees)
    int64_t trees, width, sentences, m;
    bool apart;             // trees share no nodes
    int64_t capacity;       // of the table, a power of two
    Word mask;              // of hashes: all ones, except to force collisions in tests
    int64_t* numbers;       // (kLevels + m), zero at first, as are the next three
    Word* counts;           // (m, trees) nodes and edges by level and tree, then their offsets
    Word *keys, *first;     // (capacity) the table: hash, and trees * m - the first with this hash
    int64_t *fan, *height;  // (trees, m) number of children, height
    int64_t *slot, *same;   // (trees, m) slot in the table, the first (t, w) that is equal
    int64_t *id, *edge;     // (trees, m) index of the node and its first edge, if it is the first
    int64_t* start;         // (sentences) row of the first word
    char* scratch;          // (trees, 16 m) for `read`, if shared memory is too small
    int64_t *words, *row, *child_offsets, *children, *parents, *roots;
    int64_t* places;  // (trees, width): the word of each edge, if trees are kept apart

    __device__ ForestOnDevice(const int64_t* heads, const int64_t* lengths, const int64_t* instance,
                              int64_t* zeroed, int64_t* room, int64_t* out, int64_t trees,
                              int64_t width, int64_t sentences, int64_t apart, int64_t capacity,
                              int64_t mask)
        : heads(heads),
          lengths(lengths),
          instance(instance),
          trees(trees),
          width(width),
          sentences(sentences),
          m(width + 1),
          apart(apart != 0),
          capacity(capacity),
          mask(static_cast<Word>(mask)) {
        const int64_t all = trees * m, edges = trees * width;
        numbers = take(zeroed, kLevels + m);
        counts = reinterpret_cast<Word*>(take(zeroed, all));
        keys = reinterpret_cast<Word*>(take(zeroed, capacity));
        first = reinterpret_cast<Word*>(take(zeroed, capacity));
        fan = take(room, all), height = take(room, all);
        slot = take(room, all), same = take(room, all);
        id = take(room, all), edge = take(room, all);
        start = take(room, sentences);
        scratch = reinterpret_cast<char*>(room);
        words = take(out, sentences * width);
        row = take(out, all);
        child_offsets = take(out, all + 1);
        children = take(out, edges);
        parents = take(out, edges);
        roots = take(out, trees);
        places = out;
    }

    static __device__ int64_t* take(int64_t*& base, int64_t count) {
        int64_t* taken = base;
        base += count;
        return taken;
    }

    // The number of words of the sentence of tree t; 0 if the sentence or its length is invalid.
    __device__ int64_t length(int64_t t) const {
        const int64_t b = instance[t];
        const int64_t found = b >= 0 && b < sentences ? lengths[b] : 0;
        return found <= width ? found : 0;
    }

    // The first (tree, word) that is the same node as (t, w).
    __device__ int64_t find(int64_t at) const {
        return apart ? at : trees * m - static_cast<int64_t>(first[slot[at]]);
    }

    __device__ void fail() const { numbers[kFailed] = 1; }
};

// The finalizer of splitmix64.
inline __device__ Word mix(Word x) {
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

// Whether the heads of tree t are in range and padded; the same in all lanes.
inline __device__ bool in_range(const ForestOnDevice& f, int64_t t, int64_t length) {
    const int64_t* heads = f.heads + t * f.width;
    bool bad = length < 1;
    for (int64_t i = threadIdx.x; i < f.width && !bad; i += 32)
        bad = i < length ? heads[i] < 0 || heads[i] > length : heads[i] != -1;
    return !__any_sync(kAllLanes, bad);
}

// Checks tree blockIdx.x, computes the height and the hash of its words from the leaves up, and
// inserts them into the table.
inline __device__ void read_tree(const ForestOnDevice& f, char* memory) {
    const int64_t t = blockIdx.x, length = f.length(t), lane = threadIdx.x;
    if (!in_range(f, t, length)) return f.fail();
    const int64_t *heads = f.heads + t * f.width, begin = t * f.m;
    Word* sum = reinterpret_cast<Word*>(memory);    // contribution of finished children to the hash
    int* left = reinterpret_cast<int*>(sum + f.m);  // unfinished children; -1: the word is finished
    int* height = left + f.m;
    for (int64_t w = lane; w <= length; w += 32) sum[w] = 0, left[w] = 0, height[w] = 0;
    __syncwarp();
    for (int64_t i = lane; i < length; i += 32) atomicAdd(left + heads[i], 1);
    __syncwarp();
    for (int64_t w = lane; w <= length; w += 32) f.fan[begin + w] = left[w];
    int64_t done = 0;
    for (bool found = true; found && done <= length;) {
        found = false;
        for (int64_t base = 0; base <= length; base += 32) {
            const int64_t w = base + lane;
            const bool ready = w <= length && left[w] == 0;
            const unsigned all = __ballot_sync(kAllLanes, ready);
            if (all == 0) continue;
            found = true;
            done += __popc(all);
            if (ready) {
                const Word word = w == 0 ? 0 : static_cast<Word>(f.instance[t] * f.width + w);
                const Word hash = mix(sum[w] + mix(word)) & f.mask;
                sum[w] = hash == 0 ? 1 : hash;
                left[w] = -1;
                f.height[begin + w] = height[w];
                if (w > 0) {
                    const int64_t head = heads[w - 1];
                    atomicAdd(sum + head, mix(sum[w]));
                    atomicMax(height + head, height[w] + 1);
                    atomicAdd(left + head, -1);
                }
            }
            __syncwarp();
        }
    }
    if (done <= length) return f.fail();  // a cycle
    for (int64_t w = lane; w <= length && !f.apart; w += 32) {
        Word slot = sum[w] & (f.capacity - 1), held;
        while ((held = atomicCAS(f.keys + slot, Word(0), sum[w])) != 0 && held != sum[w])
            slot = (slot + 1) & (f.capacity - 1);
        atomicMax(f.first + slot, static_cast<Word>(f.trees * f.m - begin - w));
        f.slot[begin + w] = static_cast<int64_t>(slot);
    }
    if (lane > 0) return;
    atomicAdd(reinterpret_cast<Word*>(f.numbers) + kTreeNodes, static_cast<Word>(length + 1));
    atomicMax(reinterpret_cast<Word*>(f.numbers) + kTop, static_cast<Word>(height[0]));
}

// Whether (t, w) and the first with its hash, (other, v), agree in word and number of children, and
// whether the edge from w to its head also exists for the first with the head's hash: then children
// agree as well.
inline __device__ bool is_same(const ForestOnDevice& f, int64_t t, int64_t w, int64_t same) {
    const int64_t at = t * f.m + w, other = same / f.m;
    if (same % f.m != w || f.instance[other] != f.instance[t] || f.fan[same] != f.fan[at])
        return false;
    if (w == 0) return true;
    const int64_t head = f.heads[t * f.width + w - 1], above = f.find(t * f.m + head) / f.m;
    return f.heads[above * f.width + w - 1] == head && f.find(above * f.m + w) == same;
}

// Finds the node of each word of tree blockIdx.x, and counts the nodes that it adds to each level.
inline __device__ void share_tree(const ForestOnDevice& f) {
    const int64_t t = blockIdx.x, length = f.length(t);
    if (f.numbers[kFailed]) return;
    for (int64_t w = threadIdx.x; w <= length; w += 32) {
        const int64_t at = t * f.m + w, same = f.find(at);
        f.same[at] = same;
        if (same != at) {
            if (!is_same(f, t, w, same)) f.fail();
            continue;
        }
        const int64_t level = w == 0 ? f.numbers[kTop] : f.height[at];
        atomicAdd(f.counts + level * f.trees + t, Word(1) << 32 | static_cast<Word>(f.fan[at]));
    }
}

// Block l < m: offsets of the nodes and edges of level l in each tree. Block m: first row of each
// sentence.
inline __device__ void scan_level(const ForestOnDevice& f) {
    const int64_t level = blockIdx.x;
    if (level < f.m) {
        const Word total = scan_block(f.counts + level * f.trees, f.trees);
        if (threadIdx.x == 0) f.numbers[kLevels + level] = static_cast<int64_t>(total);
        return;
    }
    for (int64_t b = threadIdx.x; b < f.sentences; b += blockDim.x) {
        f.start[b] = f.lengths[b];
        if (f.lengths[b] < 1 || f.lengths[b] > f.width) f.fail();
    }
    __syncthreads();
    const Word words = scan_block(reinterpret_cast<Word*>(f.start), f.sentences);
    if (threadIdx.x == 0) f.numbers[kWords] = static_cast<int64_t>(words);
}

// Numbers the nodes that tree blockIdx.x adds, by level, tree and word.
inline __device__ void number_tree(const ForestOnDevice& f) {
    const int64_t t = blockIdx.x, lane = threadIdx.x, top = f.numbers[kTop];
    if (f.numbers[kFailed]) return;
    const int64_t length = f.length(t), begin = t * f.m, own = f.height[begin];
    Word before = 0;  // nodes and edges of the levels below
    for (int64_t level = 0; level <= top; ++level) {
        Word at = before + f.counts[level * f.trees + t];
        before += static_cast<Word>(f.numbers[kLevels + level]);
        if (level >= own && level < top) continue;
        const int64_t last = level == top ? 0 : length;
        for (int64_t base = 0; base <= last; base += 32) {
            const int64_t w = base + lane;
            const bool here = w <= last && f.same[begin + w] == begin + w &&
                              (w == 0 ? top : f.height[begin + w]) == level;
            const Word count = here ? Word(1) << 32 | static_cast<Word>(f.fan[begin + w]) : 0;
            const Word sum = scan_warp(count), mine = at + sum - count;
            at += __shfl_sync(kAllLanes, sum, 31);
            if (!here) continue;
            const int64_t node = static_cast<int64_t>(mine >> 32);
            f.id[begin + w] = node;
            f.edge[begin + w] = f.child_offsets[node] = static_cast<int64_t>(mine & 0xffffffffu);
            f.row[node] = w == 0 ? f.numbers[kWords] : f.start[f.instance[t]] + w - 1;
        }
    }
    if (t == 0 && lane == 0)
        f.child_offsets[before >> 32] = static_cast<int64_t>(before & 0xffffffffu);
}

// Writes the edges of the nodes that tree blockIdx.x adds, and its root; further blocks write the
// words of a sentence each.
inline __device__ void link_tree(const ForestOnDevice& f) {
    if (f.numbers[kFailed]) return;
    if (blockIdx.x >= f.trees) {
        const int64_t b = blockIdx.x - f.trees;
        for (int64_t i = threadIdx.x; i < f.lengths[b]; i += 32)
            f.words[f.start[b] + i] = b * f.width + i;
        return;
    }
    const int64_t t = blockIdx.x, length = f.length(t), begin = t * f.m;
    const int64_t* heads = f.heads + t * f.width;
    if (threadIdx.x == 0) f.roots[t] = f.id[f.same[begin]];
    for (int64_t i = threadIdx.x; i < length; i += 32) {
        const int64_t head = begin + heads[i];
        if (f.same[head] != head) continue;
        int64_t edge = f.edge[head];
        for (int64_t j = 0; j < i; ++j) edge += heads[j] == heads[i];
        f.children[edge] = f.id[f.same[begin + i + 1]];
        f.parents[edge] = f.id[head];
        if (f.apart) f.places[edge] = t * f.width + i;
    }
}

}  // namespace sparsewood

#define SPARSEWOOD_FOREST_KERNEL(name, step)                                                       \
    extern "C" __global__ void name(const int64_t* heads, const int64_t* lengths,                  \
                                    const int64_t* instance, int64_t* zeroed, int64_t* room,       \
                                    int64_t* out, int64_t trees, int64_t width, int64_t sentences, \
                                    int64_t apart, int64_t capacity, int64_t mask) {               \
        const sparsewood::ForestOnDevice f(heads, lengths, instance, zeroed, room, out, trees,     \
                                           width, sentences, apart, capacity, mask);               \
        sparsewood::step;                                                                          \
    }

SPARSEWOOD_FOREST_KERNEL(forest_read, read_tree(f, sparsewood::dynamic_shared()))
SPARSEWOOD_FOREST_KERNEL(forest_read_large, read_tree(f, f.scratch + 16 * f.m * blockIdx.x))
SPARSEWOOD_FOREST_KERNEL(forest_share, share_tree(f))
SPARSEWOOD_FOREST_KERNEL(forest_scan, scan_level(f))
SPARSEWOOD_FOREST_KERNEL(forest_number, number_tree(f))
SPARSEWOOD_FOREST_KERNEL(forest_link, link_tree(f))

// Block 0: the edges grouped by child node. Block 1: the nodes of words grouped by row. The scratch
// memory holds both orders and their offsets.
extern "C" __global__ void forest_turn(const int64_t* children, const int64_t* row, int64_t edges,
                                       int64_t nodes, int64_t word_nodes, int64_t words,
                                       int64_t* edge_offsets, int64_t* edge_order,
                                       int64_t* row_offsets, int64_t* row_order, int64_t* room) {
    if (blockIdx.x == 0)
        sparsewood::sort_by_key(children, edges, nodes, edge_offsets, edge_order, room);
    else
        sparsewood::sort_by_key(row, word_nodes, words, row_offsets, row_order,
                                room + nodes + 1 + edges);
}
