// Many trees as one shared graph: every distinct subtree is one node (hash-consing).
//
// A node is a word and the list of its child nodes, in the order of their words; the root node of a
// tree has no word. Children of one node have different words, so equal sets of children are equal
// lists. A word belongs to one sentence, so sentences never share a node.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "group/interrupt.h"

namespace sparsewood {

// The trees of a padded batch, in the caller's arrays.
struct TreeBatch {
    const int64_t* heads;     // (trees, width), -1 beyond the length
    const int64_t* lengths;   // (sentences)
    const int64_t* instance;  // (trees)
    int64_t trees, width, sentences;
};

// The graph. Nodes are numbered level by level; the level of a word's node is its height (0 for a
// leaf), and all root nodes are in the last level.
struct SharedForest {
    std::vector<int64_t> words;          // (W) the sentences' words as flat indices into (B, width)
    std::vector<int64_t> row;            // (N) index of a node into `words`; W for a root node
    std::vector<int64_t> child_offsets;  // (N + 1)
    std::vector<int64_t> children;       // (E) node ids, children of one node in word order
    std::vector<int64_t> parents;        // (E) the parent of each entry of `children`
    std::vector<int64_t> roots;          // (trees)
    std::vector<int64_t> level_offsets;  // (levels + 1)
    int64_t tree_nodes = 0;              // total number of nodes of the individual trees
};

class ForestBuilder {
  public:
    explicit ForestBuilder(const TreeBatch& trees) : trees_(trees) {
        size_t n = static_cast<size_t>(trees.width);
        first_.resize(n + 2);
        child_.resize(n);
        pending_.resize(n + 1);
        ready_.reserve(n + 1);
        node_.resize(n + 1);
        table_.assign(1024, kEmpty);
    }

    SharedForest build() {
        SharedForest forest;
        list_words(forest);
        root_row_ = static_cast<int64_t>(forest.words.size());
        forest.roots.resize(static_cast<size_t>(trees_.trees));
        for (int64_t t = 0; t < trees_.trees; ++t) {
            if (t % 64 == 0) poll();
            forest.roots[static_cast<size_t>(t)] = add(t);
            forest.tree_nodes += length_ + 1;
        }
        renumber(forest);
        return forest;
    }

  private:
    struct Node {
        int64_t row, begin, end;  // its children are children_[begin:end]
        uint64_t hash;
        int64_t height;
    };
    static constexpr int64_t kEmpty = -1;

    const TreeBatch& trees_;
    std::vector<int64_t> start_;  // (sentences) row of the first word
    int64_t root_row_ = 0, length_ = 0;
    // The current tree: children by head in word order, number of unfinished children, words whose
    // children are all finished, node of each word (0: the root).
    std::vector<int64_t> first_, child_, pending_, ready_, node_;
    // The nodes in order of creation, and their hash table.
    std::vector<Node> nodes_;
    std::vector<int64_t> children_, table_;

    void list_words(SharedForest& forest) {
        for (int64_t b = 0; b < trees_.sentences; ++b) {
            int64_t length = trees_.lengths[b];
            if (length < 1 || length > trees_.width)
                throw std::invalid_argument("lengths[" + std::to_string(b) + "] is " +
                                            std::to_string(length) + ", expected 1 to " +
                                            std::to_string(trees_.width));
            start_.push_back(static_cast<int64_t>(forest.words.size()));
            for (int64_t i = 0; i < length; ++i) forest.words.push_back(b * trees_.width + i);
        }
    }

    [[noreturn]] static void reject(int64_t tree, const std::string& why) {
        throw std::invalid_argument("tree " + std::to_string(tree) + ": " + why);
    }

    // Checks tree t and sorts its words by head.
    const int64_t* read(int64_t t) {
        int64_t b = trees_.instance[t];
        if (b < 0 || b >= trees_.sentences)
            reject(t, "instance " + std::to_string(b) + " is none of the " +
                          std::to_string(trees_.sentences) + " sentences");
        const int64_t* heads = trees_.heads + t * trees_.width;
        length_ = trees_.lengths[b];
        std::fill(first_.begin(), first_.end(), 0);
        for (int64_t i = 0; i < trees_.width; ++i) {
            if (i >= length_ ? heads[i] == -1 : heads[i] >= 0 && heads[i] <= length_) {
                if (i < length_) ++first_[static_cast<size_t>(heads[i]) + 1];
                continue;
            }
            reject(t, "the head of word " + std::to_string(i + 1) + " is " +
                          std::to_string(heads[i]) + ", expected " +
                          (i < length_ ? "0 to " + std::to_string(length_) : "the padding -1") +
                          " in a sentence of " + std::to_string(length_) + " words");
        }
        for (size_t h = 0; h <= static_cast<size_t>(length_); ++h) {
            pending_[h] = first_[h + 1];
            first_[h + 1] += first_[h];
        }
        node_.assign(first_.begin(), first_.end() - 1);  // the position of the next child of h
        for (int64_t i = 0; i < length_; ++i)
            child_[static_cast<size_t>(node_[static_cast<size_t>(heads[i])]++)] = i + 1;
        return heads;
    }

    // Adds tree t, a word after all of its children, and returns its root node.
    int64_t add(int64_t t) {
        const int64_t* heads = read(t);
        int64_t start = start_[static_cast<size_t>(trees_.instance[t])];
        ready_.clear();
        for (int64_t i = 1; i <= length_; ++i)
            if (pending_[static_cast<size_t>(i)] == 0) ready_.push_back(i);
        for (size_t at = 0; at < ready_.size(); ++at) {
            int64_t i = ready_[at];
            if (i == 0) break;
            node_[static_cast<size_t>(i)] = intern(i, start + i - 1);
            int64_t head = heads[i - 1];
            if (--pending_[static_cast<size_t>(head)] == 0) ready_.push_back(head);
        }
        if (static_cast<int64_t>(ready_.size()) != length_ + 1) reject(t, cycle(heads));
        return intern(0, root_row_);
    }

    // Describes a cycle: from a word that was never ready, `length` steps lead onto one.
    std::string cycle(const int64_t* heads) const {
        int64_t at = 1;
        while (pending_[static_cast<size_t>(at)] == 0) ++at;
        for (int64_t i = 0; i < length_; ++i) at = heads[at - 1];
        std::string walk = std::to_string(at);
        for (int64_t i = heads[at - 1]; i != at; i = heads[i - 1])
            walk += " -> " + std::to_string(i);
        return "the heads form a cycle, " + walk + " -> " + std::to_string(at);
    }

    // The node of word i (0: root) with the current children; created if it does not exist.
    int64_t intern(int64_t i, int64_t row) {
        int64_t begin = static_cast<int64_t>(children_.size()), height = 0;
        uint64_t hash = mix(static_cast<uint64_t>(row));
        for (int64_t e = first_[static_cast<size_t>(i)]; e < first_[static_cast<size_t>(i) + 1];
             ++e) {
            int64_t child = node_[static_cast<size_t>(child_[static_cast<size_t>(e)])];
            children_.push_back(child);
            hash = mix(hash ^ static_cast<uint64_t>(child));
            height = std::max(height, nodes_[static_cast<size_t>(child)].height + 1);
        }
        Node node{row, begin, static_cast<int64_t>(children_.size()), hash, height};
        size_t slot = find(node);
        if (table_[slot] != kEmpty) {
            children_.resize(static_cast<size_t>(begin));
            return table_[slot];
        }
        int64_t id = table_[slot] = static_cast<int64_t>(nodes_.size());
        nodes_.push_back(node);
        if (nodes_.size() * 2 > table_.size()) grow();
        return id;
    }

    // The slot of an equal node (compared in full), or the free slot for it.
    size_t find(const Node& node) const {
        size_t mask = table_.size() - 1, slot = node.hash & mask;
        for (; table_[slot] != kEmpty; slot = (slot + 1) & mask)
            if (equal(nodes_[static_cast<size_t>(table_[slot])], node)) break;
        return slot;
    }

    bool equal(const Node& a, const Node& b) const {
        const int64_t* c = children_.data();
        return a.hash == b.hash && a.row == b.row &&
               std::equal(c + a.begin, c + a.end, c + b.begin, c + b.end);
    }

    void grow() {
        table_.assign(table_.size() * 2, kEmpty);
        size_t mask = table_.size() - 1;
        for (size_t id = 0; id < nodes_.size(); ++id) {
            size_t slot = nodes_[id].hash & mask;
            while (table_[slot] != kEmpty) slot = (slot + 1) & mask;
            table_[slot] = static_cast<int64_t>(id);
        }
    }

    // The finalizer of splitmix64.
    static uint64_t mix(uint64_t x) {
        x += 0x9e3779b97f4a7c15u;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        return x ^ (x >> 31);
    }

    // Sorts the nodes by level, within a level in order of creation.
    void renumber(SharedForest& forest) {
        int64_t levels = 0;
        for (const Node& node : nodes_) levels = std::max(levels, node.height + 1);
        for (Node& node : nodes_)
            if (node.row == root_row_) node.height = levels - 1;
        auto& offsets = forest.level_offsets;
        offsets.assign(static_cast<size_t>(levels) + 1, 0);
        for (const Node& node : nodes_) ++offsets[static_cast<size_t>(node.height) + 1];
        for (size_t l = 0; l < static_cast<size_t>(levels); ++l) offsets[l + 1] += offsets[l];

        std::vector<int64_t> next(offsets), id(nodes_.size()), order(nodes_.size());
        for (size_t old = 0; old < nodes_.size(); ++old) {
            id[old] = next[static_cast<size_t>(nodes_[old].height)]++;
            order[static_cast<size_t>(id[old])] = static_cast<int64_t>(old);
        }
        forest.row.reserve(nodes_.size());
        forest.child_offsets.assign(1, 0);
        forest.child_offsets.reserve(nodes_.size() + 1);
        forest.children.reserve(children_.size());
        for (int64_t old : order) {
            const Node& node = nodes_[static_cast<size_t>(old)];
            forest.row.push_back(node.row);
            for (int64_t e = node.begin; e < node.end; ++e)
                forest.children.push_back(
                    id[static_cast<size_t>(children_[static_cast<size_t>(e)])]);
            forest.parents.resize(forest.children.size(), id[static_cast<size_t>(old)]);
            forest.child_offsets.push_back(static_cast<int64_t>(forest.children.size()));
        }
        for (int64_t& root : forest.roots) root = id[static_cast<size_t>(root)];
    }
};

}  // namespace sparsewood
