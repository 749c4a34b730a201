// A CPU thread as a Group: see group.h, which includes this.
#pragma once

namespace sparsewood {

void solve_columns(const double* rows, int n, double* x, int width);  // columns.cpp
void poll();                                                          // interrupt.h
int argmax_row(const double* row, int n);                             // rows.cpp, as rebase_row
void rebase_row(const double* row, double base, int n, double* out, bool first);

#if defined(__GNUC__)
constexpr int kLongRow = 32;  // from which on a call of rows.cpp is the faster way
#else
constexpr int kLongRow = 1 << 30;
#endif

// Two numbers that are processed together: a vector if the compiler has the type.
struct Pair {
#if defined(__GNUC__)
    typedef double Vector __attribute__((vector_size(16), aligned(8), may_alias));
    Vector v;
    static Pair load(const double* p) { return {*reinterpret_cast<const Vector*>(p)}; }
    Pair operator*(Pair o) const { return {v * o.v}; }
    Pair operator+(Pair o) const { return {v + o.v}; }
    Pair operator-(Pair o) const { return {v - o.v}; }
    Pair max(Pair o) const { return {v > o.v ? v : o.v}; }
    void store(double* p) const { *reinterpret_cast<Vector*>(p) = v; }
#else
    double v[2];
    static Pair load(const double* p) { return {{p[0], p[1]}}; }
    Pair operator*(Pair o) const { return {{v[0] * o.v[0], v[1] * o.v[1]}}; }
    Pair operator+(Pair o) const { return {{v[0] + o.v[0], v[1] + o.v[1]}}; }
    Pair operator-(Pair o) const { return {{v[0] - o.v[0], v[1] - o.v[1]}}; }
    Pair max(Pair o) const {
        return {{v[0] > o.v[0] ? v[0] : o.v[0], v[1] > o.v[1] ? v[1] : o.v[1]}};
    }
    void store(double* p) const { p[0] = v[0], p[1] = v[1]; }
#endif
    double sum() const { return v[0] + v[1]; }
};

// One CPU thread. Reductions keep independent partial results so that they fill
// the pipeline (and vectorise) without reassociating anything at compile time.
struct Thread {
    static constexpr int kLanes = 1;
    static constexpr bool kLists = true;  // whether codes may also be lists: filled_slots.h
    // Minimum number of right-hand sides to solve together, and the multiple of columns.
    static constexpr int kTogether = 4, kColumns = 8;
    static constexpr int lane() { return 0; }
    static constexpr int size() { return 1; }
    static constexpr bool leader() { return true; }
    static void sync() {}
    static double sum(double x) { return x; }
    static double max(double x) { return x; }

    using Lane = Thread;  // one lane as a Group of its own
    static uint32_t ballot(bool x) { return x; }
    static bool any(bool x) { return x; }
    static int total(int x) { return x; }
    static int largest(int x) { return x; }
    // value <- the maximum over lanes, at <- the minimum `at` of the lanes with it; or smallest().
    static void largest(int& value, int& at) { (void)value, (void)at; }
    static void smallest(double& value, int& at) { (void)value, (void)at; }

    // The last a < n with holds(a), -1: none.
    template <class Holds>
    static int last(int n, Holds holds) {
        while (n > 0 && !holds(n - 1)) --n;
        return n - 1;
    }

    static double inverse_root(double x) { return 1 / std::sqrt(x); }

    // out[v] += the dot product of a[v] and b[v], summed over the lanes; or of `out` only.
    template <size_t Count>
    static void products(const double* const (&a)[Count], const double* const (&b)[Count], int n,
                         double (&out)[Count]) {
        for (size_t v = 0; v < Count; ++v) out[v] += dot(a[v], b[v], n);
    }
    template <size_t Count>
    static void sum(double (&)[Count]) {}

    static double dot(const double* a, const double* b, int n) {
        Pair s = {}, t = {};
        int i = 0;
        for (; i + 4 <= n; i += 4) {
            s = s + Pair::load(a + i) * Pair::load(b + i);
            t = t + Pair::load(a + i + 2) * Pair::load(b + i + 2);
        }
        double rest = 0;
        for (; i < n; ++i) rest += a[i] * b[i];
        return (s + t).sum() + rest;
    }

    // Throws if the call must end. Call it every few milliseconds, at most every few
    // microseconds.
    static void poll() { sparsewood::poll(); }

    // The dot products of four rows with x.
    static void dots(const double* a, const double* b, const double* c, const double* d,
                     const double* x, int n, double* out) {
        Pair s = {}, t = {}, u = {}, v = {};
        int i = 0;
        for (; i + 2 <= n; i += 2) {
            Pair y = Pair::load(x + i);
            s = s + Pair::load(a + i) * y;
            t = t + Pair::load(b + i) * y;
            u = u + Pair::load(c + i) * y;
            v = v + Pair::load(d + i) * y;
        }
        out[0] = s.sum(), out[1] = t.sum(), out[2] = u.sum(), out[3] = v.sum();
        if (i < n)
            out[0] += a[i] * x[i], out[1] += b[i] * x[i], out[2] += c[i] * x[i],
                out[3] += d[i] * x[i];
    }

    // Lowest index of the largest entry; -1 when all are forbidden (or n = 0).
    static int argmax(const double* a, int n) {
        if (n >= kLongRow) return argmax_row(a, n);
        Pair m = {{kForbidden, kForbidden}}, o = m;
        int i = 0;
        for (; i + 4 <= n; i += 4) {
            m = Pair::load(a + i).max(m);
            o = Pair::load(a + i + 2).max(o);
        }
        m = m.max(o);
        double best = m.v[0] > m.v[1] ? m.v[0] : m.v[1];
        for (; i < n; ++i) best = a[i] > best ? a[i] : best;
        int at = -1;
        for (i = n; i-- > 0;) at = a[i] >= best ? i : at;  // a search would mispredict its end
        return best == kForbidden ? -1 : at;
    }

    static int argmax(double x, int at) { return x == kForbidden ? -1 : at; }

    // out[i] = max(out[i], row[i] - base), or just row[i] - base when first.
    static void rebase(const double* row, double base, int n, double* out, bool first) {
        if (n >= kLongRow) return rebase_row(row, base, n, out, first);
        int i = 0;
        if (first) {
            for (; i < n; ++i) out[i] = row[i] - base;
            return;
        }
        for (; i + 2 <= n; i += 2)
            (Pair::load(row + i) - Pair{{base, base}}).max(Pair::load(out + i)).store(out + i);
        if (i < n) out[i] = row[i] - base > out[i] ? row[i] - base : out[i];
    }

    // out[k] = plus[k] + max_j x[j] + rows[j][k] for rows (m, n).
    static void max_plus(const double* x, const double* rows, const double* plus, int m, int n,
                         double* out) {
        int k = 0;
        for (; n - k >= 12; k += 8) best_columns<4>(x, rows + k, plus + k, m, n, out + k);
        last_columns<5>((n - k) / 2, x, rows + k, plus + k, m, n, out + k);
        k = n / 2 * 2;
        if (k == n) return;
        double best = kForbidden;
        for (int j = 0; j < m; ++j) {
            double s = x[j] + rows[int64_t(j) * n + k];
            best = s > best ? s : best;
        }
        out[k] = plus[k] + best;
    }

    // The number of n places in which two codes agree; with NonZero, without places in which both
    // are 0. n is a multiple of kCodeBlock.
    template <bool NonZero>
    static int agree(const int16_t* a, const int16_t* b, int n) {
        if (n <= kCounted) return agree_in_piece<NonZero>(a, b, n);
        int count = 0;
        for (int i = 0; i < n; i += kCounted)
            count += agree_in_piece<NonZero>(a + i, b + i, n - i < kCounted ? n - i : kCounted);
        return count;
    }

  private:
    static constexpr int kCounted = 1 << 15;  // number of places that fits in 16 bits

    template <bool NonZero>
    static int agree_in_piece(const int16_t* a, const int16_t* b, int n) {
#if defined(__GNUC__)
        typedef int16_t Block __attribute__((vector_size(2 * kCodeBlock)));
        typedef uint64_t Halves __attribute__((vector_size(2 * kCodeBlock)));
        Block count = {0, 0, 0, 0, 0, 0, 0, 0};
        for (int i = 0; i < n; i += kCodeBlock) {
            Block x, y;
            std::memcpy(&x, a + i, sizeof x);
            std::memcpy(&y, b + i, sizeof y);
            Block same = static_cast<Block>(x == y);
            count -= NonZero ? same & static_cast<Block>(x != 0) : same;
        }
        // Sums the eight 16-bit counts by one addition and one multiplication.
        Halves halves = reinterpret_cast<Halves>(count);
        return static_cast<int>((halves[0] + halves[1]) * 0x0001000100010001u >> 48);
#else
        int count = 0;
        for (int i = 0; i < n; ++i) count += a[i] == b[i] && !(NonZero && a[i] == 0);
        return count;
#endif
    }

    // best_columns<pairs> for the remaining columns, at most Most pairs.
    template <int Most, class... Rest>
    static void last_columns(int pairs, Rest... rest) {
        if (pairs == Most)
            best_columns<Most>(rest...);
        else if constexpr (Most > 1)
            last_columns<Most - 1>(pairs, rest...);
    }

    template <size_t Count>
    static void best_columns(const double* x, const double* rows, const double* plus, int m, int n,
                             double* out) {
        Pair best[Count];
        for (Pair& b : best) b = Pair{{kForbidden, kForbidden}};
        for (int j = 0; j < m; ++j, rows += n) {
            Pair s = {{x[j], x[j]}};
            for (size_t p = 0; p < Count; ++p) best[p] = best[p].max(s + Pair::load(rows + 2 * p));
        }
        for (size_t p = 0; p < Count; ++p) (best[p] + Pair::load(plus + 2 * p)).store(out + 2 * p);
    }
};

}  // namespace sparsewood
