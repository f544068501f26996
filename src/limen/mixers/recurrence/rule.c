/* The rule of a matrix memory and its derivative; REAL is float or double.

       S_t = (I - b_t k_t k_t^T) diag(a_t) S_{t-1} + b_t k_t v_t^T        y_t = q_t^T S_t

   A token writes b_t u_t under k_t, u_t = v_t - (diag(a_t) S_{t-1})^T k_t; b is the beta of rule.py.  Without b
   nothing is erased and v_t is written, without a nothing fades; a token has one a, or one a row.  All heads of
   all texts, one after the other: a memory stays in the first cache.

   Forward, token by token, a row of the memory is a vector (over d): k^T S and q^T S are sums of vectors.
   Backward, CHUNK tokens are taken together, as products of matrices (the end of this file).  Where rows fade each
   by itself it is token by token, too, and a column is a vector (over d_k): the gradients of q, k and a are sums
   of vectors, only that of v needs sums within one.

       dS += q dy^T    dw = dS^T k    dk = b dS u    dq = S_t dy    dv = b dw    db = <dw, u>
       dk -= diag(a) S dv    dS' = dS - k dv^T    da = rows of <dS', S>    dS <- diag(a) dS'

   Kept for the way back are the states before some tokens, and u where something is erased.
*/
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LANES (32 / (int)sizeof(REAL))
#define STRIDE 32 /* the state before every such token is kept where rows fade each by itself, */
#define CHUNK 16  /* else before every such one */
#define TILE 4
#define AHEAD 4
#define ALWAYS static inline __attribute__((always_inline))
#define ONCE static __attribute__((noinline)) /* code that is short enough for the cache of instructions */

typedef REAL vec __attribute__((vector_size(32)));

/* One tensor: the first number of each head, and how far apart its tokens stand; x == NULL: there is none. */
typedef struct {
    REAL *x;
    const int64_t *head;
    int64_t token;
    int64_t shared; /* by several heads: their gradients are added up */
} part;

typedef struct {
    int64_t heads, n, d_k, d, gates, levels; /* gates: numbers a_t has, 0, 1 or d_k; levels: those of lambda */
    part q, k, v, b, a, l, y; /* l: lambda, where the rule has levels */
    REAL *kept; /* the states before every STRIDE-th or CHUNK-th token, or NULL */
    REAL *u;    /* (heads, n, d), where something is erased */
    part dq, dk, dv, db, da, dl;
} sequence;

ALWAYS int whole(int64_t d) { return (int)((d + LANES - 1) / LANES); }

ALWAYS const REAL *at(const part *p, int64_t head, int64_t t) { return p->x + p->head[head] + t * p->token; }

ALWAYS REAL sum(vec x) {
    typedef REAL half __attribute__((vector_size(16)));
    half both[2];
    memcpy(both, &x, sizeof x);
    both[0] += both[1];
    REAL s = 0;
    for (int l = 0; l < LANES / 2; l++) s += both[0][l];
    return s;
}

/* Tokens of one head stand apart, where no processor looks by itself: it is told some tokens ahead. */
ALWAYS void ahead(const part *p, int64_t head, int64_t t, int64_t n, int64_t d) {
    if (p->x && t >= 0 && t < n)
        for (int64_t i = 0; i < d; i += 64 / sizeof(REAL)) __builtin_prefetch(at(p, head, t) + i);
}

/* ---- Forward, token by token ---- */

ALWAYS REAL gate(const REAL *a, int gates, int i) { return gates == 0 ? 1 : gates == 1 ? a[0] : a[i]; }

/* Some columns of the state before token t, as the way back wants them: by rows, in whole vectors; or, where
   rows fade each by itself, rows in groups of LANES. */
ALWAYS void keep(const sequence *s, int64_t h, int64_t t, int64_t c, int64_t width, const REAL *S, int row,
                 int gates) {
    if (gates < 2) {
        const int64_t D = whole(s->d) * LANES, K = whole(s->d_k) * LANES;
        REAL *to = s->kept + (h * ((s->n + CHUNK - 1) / CHUNK) + t / CHUNK) * K * D + c;
        for (int64_t i = 0; i < s->d_k; i++) memcpy(to + i * D, S + i * row, width * sizeof(REAL));
        return;
    }
    REAL *to = s->kept + (h * ((s->n + STRIDE - 1) / STRIDE) + t / STRIDE) * s->d * whole(s->d_k) * LANES;
    for (int64_t i = 0; i < s->d_k; i++)
        for (int64_t j = 0; j < width; j++)
            to[(i / LANES * s->d + c + j) * LANES + i % LANES] = S[i * row + j];
}

/* Columns never meet: a few vectors of them are a memory of their own.  S: d_k rows of J vectors.  Sums go into two
   accumulators by turns, which nothing points to: they stay in registers. */
ALWAYS void forward_tile(const sequence *s, int64_t h, int64_t c, vec *restrict S, int J, int erases, int gates) {
    const int d_k = (int)s->d_k;
    const int64_t room = s->d - c, width = (room < J * LANES ? room : J * LANES);
    memset(S, 0, sizeof(vec) * d_k * J);
    for (int64_t t = 0; t < s->n; t++) {
        const REAL *q = at(&s->q, h, t), *k = at(&s->k, h, t), *a = gates ? at(&s->a, h, t) : NULL;
        ahead(&s->q, h, t + AHEAD, s->n, d_k), ahead(&s->k, h, t + AHEAD, s->n, d_k);
        ahead(&s->v, h, t + AHEAD, s->n, s->d), ahead(&s->y, h, t + AHEAD, s->n, s->d);
        if (gates > 1) ahead(&s->a, h, t + AHEAD, s->n, d_k);
        if (s->kept && t % (gates < 2 ? CHUNK : STRIDE) == 0) keep(s, h, t, c, width, (REAL *)S, J * LANES, gates);
        vec given[TILE] = {{0}}, w[TILE], sum0[TILE] = {{0}}, sum1[TILE] = {{0}};
        memcpy(given, at(&s->v, h, t) + c, width * sizeof(REAL));
        for (int j = 0; j < J; j++) w[j] = given[j];
        int i = 0;
        if (erases) {
            for (; i + 1 < d_k; i += 2) {
                const REAL k0 = k[i] * gate(a, gates, i), k1 = k[i + 1] * gate(a, gates, i + 1);
                for (int j = 0; j < J; j++) sum0[j] += k0 * S[i * J + j], sum1[j] += k1 * S[(i + 1) * J + j];
            }
            for (; i < d_k; i++)
                for (int j = 0; j < J; j++) sum0[j] += k[i] * gate(a, gates, i) * S[i * J + j];
            for (int j = 0; j < J; j++) given[j] = w[j] -= sum0[j] + sum1[j];
            if (s->u) memcpy(s->u + (h * s->n + t) * s->d + c, given, width * sizeof(REAL));
            for (int j = 0; j < J; j++) w[j] *= *at(&s->b, h, t), sum0[j] = sum1[j] = (vec){0};
        }
#define ROW(i, sum)                                                                          \
    for (int j = 0; j < J; j++) {                                                            \
        const vec row = (gates ? gate(a, gates, i) * S[(i) * J + j] : S[(i) * J + j]) + k[i] * w[j]; \
        S[(i) * J + j] = row;                                                                \
        sum[j] += q[i] * row;                                                                \
    }
        for (i = 0; i + 1 < d_k; i += 2) {
            ROW(i, sum0)
            ROW(i + 1, sum1)
        }
        if (i < d_k) ROW(i, sum0)
#undef ROW
        for (int j = 0; j < J; j++) given[j] = sum0[j] + sum1[j];
        memcpy((REAL *)at(&s->y, h, t) + c, given, width * sizeof(REAL));
    }
}

/* Each kind of rule has loops of its own. */
#define KINDS(call, ...)                             \
    do {                                             \
        if (s->b.x) {                                \
            if (!s->a.x) call(__VA_ARGS__, 1, 0);    \
            else if (s->gates == 1) call(__VA_ARGS__, 1, 1); \
            else call(__VA_ARGS__, 1, 2);            \
        } else {                                     \
            if (!s->a.x) call(__VA_ARGS__, 0, 0);    \
            else if (s->gates == 1) call(__VA_ARGS__, 0, 1); \
            else call(__VA_ARGS__, 0, 2);            \
        }                                            \
    } while (0)

int rule_forward(const sequence *s) {
    vec *S = aligned_alloc(32, sizeof(vec) * s->d_k * TILE);
    if (!S) return 1;
    for (int64_t h = 0; h < s->heads; h++)
        for (int64_t c = 0; c < s->d;) {
            const int wide = s->d - c > LANES;
            if (wide) KINDS(forward_tile, s, h, c, S, TILE);
            else KINDS(forward_tile, s, h, c, S, 1);
            c += wide ? TILE * LANES : LANES;
        }
    free(S);
    return 0;
}

/* ---- Backward, token by token, where rows fade each by itself ---- */

/* LANES numbers of a token, from the i-th such group on; what is missing is 0. */
ALWAYS vec rows(const part *p, int64_t head, int64_t t, int i, int64_t d) {
    const REAL *x = at(p, head, t) + i * LANES;
    vec found = {0};
    if (d - i * LANES >= LANES) memcpy(&found, x, sizeof found);
    else for (int l = 0; l < d - i * LANES; l++) found[l] = x[l];
    return found;
}

ALWAYS void added(const part *p, int64_t head, int64_t t, int i, vec x, int64_t d) {
    REAL *to = (REAL *)at(p, head, t) + i * LANES;
    const int lanes = d - i * LANES < LANES ? (int)(d - i * LANES) : LANES;
    if (lanes == LANES) {
        vec before;
        memcpy(&before, to, sizeof before);
        before += x;
        memcpy(to, &before, sizeof before);
    } else for (int l = 0; l < lanes; l++) to[l] += x[l];
}

/* Backward, LANES rows are one vector; dS and each of the states: so many times d vectors. */
typedef struct {
    vec *dS, *states, *along;
    REAL *dw;
} room;

ALWAYS const REAL *new(const sequence *s, int64_t h, int64_t t, int erases) {
    return erases ? s->u + (h * s->n + t) * s->d : at(&s->v, h, t);
}

/* Once more forward: the states before the tokens of a stretch, from the first of them. */
ALWAYS void again(const sequence *s, int64_t h, int64_t from, int64_t to, room m, int erases) {
    const int64_t d = s->d, size = d * whole(s->d_k);
    for (int64_t t = from; t + 1 < to; t++) {
        const vec *S = m.states + (t - from) * size;
        vec *restrict next = m.states + (t - from + 1) * size;
        const REAL *u = new(s, h, t, erases);
        for (int i = 0; i < whole(s->d_k); i++, S += d, next += d) {
            const vec k = (erases ? *at(&s->b, h, t) : 1) * rows(&s->k, h, t, i, s->d_k);
            const vec a = rows(&s->a, h, t, i, s->d_k);
            for (int64_t c = 0; c < d; c++) next[c] = a * S[c] + u[c] * k;
        }
    }
}

/* dS += q dy^T, dk = b dS u, dq = S_t dy; dw so far; where nothing is erased also da and dS as it is before. */
ALWAYS void read_back(const sequence *s, int64_t h, int64_t t, int i, vec *restrict dS, const vec *restrict S,
                      vec *restrict along, int erases) {
    const int64_t d = s->d;
    const REAL *u = new(s, h, t, erases), *dy = at(&s->y, h, t), b = erases ? *at(&s->b, h, t) : 1;
    const vec q = rows(&s->q, h, t, i, s->d_k), k = rows(&s->k, h, t, i, s->d_k), a = rows(&s->a, h, t, i, s->d_k);
    vec dk0 = {0}, dk1 = {0}, dq0 = {0}, dq1 = {0}, da0 = {0}, da1 = {0};
    REAL read = 0;
    for (int64_t c = 0; c < d; c++) read += u[c] * dy[c];
    if (!i) memset(along, 0, sizeof(vec) * d);
#define STEP(z)                                               \
    do {                                                      \
        const vec D = dS[c + z] + dy[c + z] * q, before = S[c + z]; \
        dk##z += u[c + z] * D;                                \
        dq##z += dy[c + z] * before;                          \
        along[c + z] += k * D;                                \
        if (!erases) da##z += D * before;                     \
        dS[c + z] = erases ? D : a * D;                       \
    } while (0)
    int64_t c = 0;
    for (; c + 1 < d; c += 2) {
        STEP(0);
        STEP(1);
    }
    if (c < d) STEP(0);
#undef STEP
    added(&s->dk, h, t, i, b * (dk0 + dk1), s->d_k);
    added(&s->dq, h, t, i, a * (dq0 + dq1) + b * read * k, s->d_k);
    if (!erases) added(&s->da, h, t, i, da0 + da1, s->d_k);
}

/* dk -= diag(a) S dv, dS' = dS - k dv^T, da, and dS as it is before the token. */
ALWAYS void erase_back(const sequence *s, int64_t h, int64_t t, int i, vec *restrict dS, const vec *restrict S,
                       const REAL *restrict dw) {
    const int64_t d = s->d;
    const vec k = rows(&s->k, h, t, i, s->d_k), a = rows(&s->a, h, t, i, s->d_k);
    const REAL b = *at(&s->b, h, t);
    vec dk0 = {0}, dk1 = {0}, da0 = {0}, da1 = {0};
#define STEP(z)                                               \
    do {                                                      \
        const vec D = dS[c + z] - b * dw[c + z] * k, before = S[c + z]; \
        dk##z -= b * dw[c + z] * before;                      \
        da##z += D * before;                                  \
        dS[c + z] = a * D;                                    \
    } while (0)
    int64_t c = 0;
    for (; c + 1 < d; c += 2) {
        STEP(0);
        STEP(1);
    }
    if (c < d) STEP(0);
#undef STEP
    added(&s->dk, h, t, i, a * (dk0 + dk1), s->d_k);
    added(&s->da, h, t, i, da0 + da1, s->d_k);
}

ALWAYS void backward_head(const sequence *s, int64_t h, room m, int erases) {
    const int64_t d = s->d, stretches = (s->n + STRIDE - 1) / STRIDE, size = d * whole(s->d_k);
    memset(m.dS, 0, sizeof(vec) * size);
    for (int64_t from = (stretches - 1) * STRIDE; from >= 0; from -= STRIDE) {
        const int64_t to = from + STRIDE < s->n ? from + STRIDE : s->n;
        memcpy(m.states, s->kept + (h * stretches + from / STRIDE) * size * LANES, sizeof(vec) * size);
        again(s, h, from, to, m, erases);
        for (int64_t t = to - 1; t >= from; t--) {
            const vec *S = m.states + (t - from) * size;
            for (int i = 0; i < whole(s->d_k); i++)
                read_back(s, h, t, i, m.dS + i * d, S + i * d, m.along, erases);
            for (int64_t c = 0; c < d; c++) m.dw[c] = sum(m.along[c]);
            for (int i = 0; erases && i < whole(s->d_k); i++)
                erase_back(s, h, t, i, m.dS + i * d, S + i * d, m.dw);
            const REAL *u = new(s, h, t, erases), b = erases ? *at(&s->b, h, t) : 1;
            REAL *dv = (REAL *)at(&s->dv, h, t), db = 0;
            for (int64_t c = 0; c < d; c++) dv[c] += b * m.dw[c], db += m.dw[c] * u[c];
            if (erases) *(REAL *)at(&s->db, h, t) += db;
        }
    }
}

static int tokens_back(const sequence *s) {
    const int64_t size = s->d * whole(s->d_k);
    vec *m = aligned_alloc(32, sizeof(vec) * (size * (STRIDE + 1) + 2 * s->d));
    if (!m) return 1;
    const room all = {m, m + size, m + size * (STRIDE + 1), (REAL *)(m + size * (STRIDE + 1) + s->d)};
    for (int64_t h = 0; h < s->heads; h++)
        if (s->b.x) backward_head(s, h, all, 1);
        else backward_head(s, h, all, 0);
    free(m);
    return 0;
}

/* ---- CHUNK tokens together, where nothing fades or all rows alike ----

   With c_i the gates' product from the chunk's start to token i, G_ij that after token j up to i, w = b u (or v), and
   S the state before the chunk (P is lower, L strictly lower):

       P_ij = G_ij <q_i, k_j>    L_ij = G_ij <k_i, k_j>    u = v - c k^T S - L w
       y = P w + c q^T S         S' = c_last S + (G_last k)^T w

   so from dy and dS', the sign of dv turned so that everything else is a sum,

       dw = P^T dy + G_last k^T dS' + L^T r    r = -b dw    dv = -r    db = <dw, u>
       X = G dy w^T    Z = G r w^T  (lower, strictly lower)
       dq = X k + c S dy      dk = Z k + c S r + X^T q + Z^T k + G_last dS' w
       dS = c_last dS' + (c q)^T dy + (c k)^T r
       dg_s, g = ln a: all that was multiplied by a_s, times its derivative

   q stands above k, dy above r and X above Z: one product serves both.  Tokens are copied into rows of whole
   vectors, zeros behind them.  A product has the vectors on its right. */
#define BLOCK 4 /* rows of a product at a time */

typedef struct {
    int64_t K, D;                     /* d_k and d in whole vectors */
    REAL *qk, *cqk, *kl;              /* q above k; both times c; G_last k */
    REAL *kT, *wT;                    /* K x CHUNK, D x CHUNK */
    REAL *PL, *XZ;                    /* 2 CHUNK x CHUNK: P above L, X above Z */
    REAL *G, *below;                  /* CHUNK x CHUNK; 1 strictly below the diagonal */
    REAL *dS, *ST;                    /* K x D, D x K: S or dS turned */
    REAL *u, *w, *dw;                 /* CHUNK x D */
    REAL *dyr, *dqk;                  /* 2 CHUNK x D, 2 CHUNK x K */
    REAL *N, *dN, *NT, *level, *f;    /* of levels: nodes, their gradients, turned; weights of pairs; fadings */
    REAL a[CHUNK], b[CHUNK], c[CHUNK], dg[CHUNK];
} desk;

typedef REAL anywhere __attribute__((vector_size(32), aligned(sizeof(REAL)), may_alias));

ALWAYS vec load(const REAL *x) { return *(const vec *)x; }
ALWAYS void put(REAL *x, vec v) { *(vec *)x = v; }

ALWAYS void block(int J, int64_t from, int64_t to, const REAL *A, int64_t row, int64_t column, const REAL *B,
                  int64_t ldb, REAL *out, int64_t ldo, int add) {
    vec s[BLOCK][2];
    for (int r = 0; r < BLOCK; r++)
        for (int j = 0; j < J; j++) s[r][j] = add ? load(out + r * ldo + j * LANES) : (vec){0};
    for (int64_t k = from; k < to; k++) {
        vec b[2];
        for (int j = 0; j < J; j++) {
            b[j] = load(B + k * ldb + j * LANES);
            __asm__("" : "+x"(b[j])); /* stays in a register: the compiler would load it for each row */
        }
        for (int r = 0; r < BLOCK; r++) {
            const REAL a = A[r * row + k * column];
            for (int j = 0; j < J; j++) s[r][j] += a * b[j];
        }
    }
    for (int r = 0; r < BLOCK; r++)
        for (int j = 0; j < J; j++) put(out + r * ldo + j * LANES, s[r][j]);
}

enum shape { FULL, LOWER, UPPER };
enum how { SET, ADD };

/* out (+)= A B; A_ik stands at i·row + k·column and is full, lower or upper triangular. */
ONCE void product(int64_t M, int64_t N, int64_t K, const REAL *A, int64_t row, int64_t column, const REAL *B,
                    int64_t ldb, REAL *out, int64_t ldo, enum how add, enum shape shape) {
    for (int64_t j = 0; j < N; j += N - j >= 2 * LANES ? 2 * LANES : LANES)
        for (int64_t i = 0; i < M; i += BLOCK) {
            const int64_t from = shape == UPPER ? i : 0, to = shape == LOWER && i + BLOCK < K ? i + BLOCK : K;
            const REAL *a = A + i * row, *b = B + j;
            REAL *o = out + i * ldo + j;
            if (N - j >= 2 * LANES) {
                if (add) block(2, from, to, a, row, column, b, ldb, o, ldo, 1);
                else block(2, from, to, a, row, column, b, ldb, o, ldo, 0);
            } else block(1, from, to, a, row, column, b, ldb, o, ldo, add);
        }
}

typedef __typeof__((vec){0} < (vec){0}) places;

/* Rows i and i + w of a square of which the blocks of size w beside the diagonal change places. */
ALWAYS vec swapped(vec x, vec y, const int w, const int second) {
    places from;
#pragma GCC unroll 8
    for (int l = 0; l < LANES; l++) from[l] = (l & w ? LANES : 0) + (l ^ (((l & w) == 0) == second ? w : 0));
    return __builtin_shuffle(x, y, from);
}

/* Rows and columns of a square change places, by blocks of half a vector, a quarter, … */
ALWAYS void turned(vec a[LANES]) {
#define SWAP(w)                                                                         \
    for (int l = 0; l < LANES; l++)                                                     \
        if (!(l & w)) {                                                                 \
            const vec above = a[l], below = a[l + w];                                   \
            a[l] = swapped(above, below, w, 0), a[l + w] = swapped(above, below, w, 1); \
        }
    if (LANES == 8) SWAP((LANES / 2))
    SWAP(2)
    SWAP(1)
#undef SWAP
}

ONCE void transposed(const REAL *x, int64_t rows, int64_t columns, REAL *to) {
    for (int64_t i = 0; i < rows; i += LANES)
        for (int64_t j = 0; j < columns; j += LANES) {
            vec a[LANES];
            for (int l = 0; l < LANES; l++) a[l] = load(x + (i + l) * columns + j);
            turned(a);
            for (int l = 0; l < LANES; l++) put(to + (j + l) * rows + i, a[l]);
        }
}

/* Tokens t … of a head as rows of `width` numbers; zeros where there are none. */
ALWAYS void copied(const part *p, int64_t h, int64_t t, int64_t tokens, int64_t d, int64_t width, REAL *to) {
    for (int64_t i = 0; i < CHUNK; i++, to += width) {
        const REAL *x = i < tokens ? at(p, h, t + i) : NULL;
        int64_t c = 0;
        if (x)
            for (; c + LANES <= d; c += LANES) put(to + c, *(const anywhere *)(x + c));
        for (; c < width; c++) to[c] = x && c < d ? x[c] : 0;
    }
}

ALWAYS void written_back(const part *p, int64_t h, int64_t t, int64_t tokens, int64_t d, int64_t width, REAL sign,
                         const REAL *from) {
    for (int64_t i = 0; i < tokens; i++, from += width) {
        REAL *x = (REAL *)at(p, h, t + i);
        int64_t c = 0;
        for (; c + LANES <= d; c += LANES) {
            anywhere *to = (anywhere *)(x + c);
            const vec now = sign * load(from + c);
            *to = p->shared ? now + *to : now;
        }
        for (; c < d; c++) x[c] = (p->shared ? x[c] : 0) + sign * from[c];
    }
}

/* One number a token, `none` where there are none. */
ALWAYS void copied_numbers(const part *p, int64_t h, int64_t t, int64_t tokens, REAL none, REAL *to) {
    for (int i = 0; i < CHUNK; i++) to[i] = p->x && i < tokens ? *at(p, h, t + i) : none;
}

ALWAYS void numbers_back(const part *p, int64_t h, int64_t t, int64_t tokens, const REAL *from) {
    for (int i = 0; i < tokens; i++) {
        REAL *x = (REAL *)at(p, h, t + i);
        *x = (p->shared ? *x : 0) + from[i];
    }
}

/* to_i = by_i x_i, rows of `width`. */
ALWAYS void scaled(const REAL *x, const REAL *by, int64_t width, REAL *to) {
    for (int i = 0; i < CHUNK; i++)
        for (int64_t c = 0; c < width; c += LANES) put(to + i * width + c, by[i] * load(x + i * width + c));
}

ALWAYS REAL inner(const REAL *x, const REAL *y, int64_t width) {
    vec s[2] = {{0}};
    for (int64_t c = 0; c < width; c += LANES) s[c / LANES % 2] += load(x + c) * load(y + c);
    return sum(s[0] + s[1]);
}

/* to_i += <x_i, y_i>, rows of `width`. */
ONCE void inners(const REAL *x, const REAL *y, int64_t width, REAL *to) {
    for (int i = 0; i < CHUNK; i += LANES) {
        vec s[LANES] = {{0}}, all = *(const anywhere *)(to + i);
        for (int l = 0; l < LANES; l++)
            for (int64_t c = (i + l) * width; c < (i + l + 1) * width; c += LANES) s[l] += load(x + c) * load(y + c);
        turned(s);
        for (int l = 0; l < LANES; l++) all += s[l];
        *(anywhere *)(to + i) = all;
    }
}

/* Told a chunk ahead. */
ALWAYS void soon(const part *p, int64_t h, int64_t t, int64_t n, int64_t d) {
    for (int64_t i = t; i < t + CHUNK; i++) ahead(p, h, i, n, d);
}

ALWAYS void soon_state(const REAL *S, int64_t size) {
    for (int64_t i = 0; i < size; i += 64 / sizeof(REAL)) __builtin_prefetch(S + i);
}

/* A chunk: its tokens, c and G, P and L. */
ONCE void laid_out(const sequence *s, desk *m, int64_t h, int64_t t, int64_t tokens, int erases, int fades) {
    const int64_t K = m->K, pairs = CHUNK * CHUNK;
    REAL *k = m->qk + CHUNK * K;
    copied(&s->q, h, t, tokens, s->d_k, K, m->qk);
    copied(&s->k, h, t, tokens, s->d_k, K, k);
    if (erases) copied_numbers(&s->b, h, t, tokens, 0, m->b);
    if (fades) {
        copied_numbers(&s->a, h, t, tokens, 1, m->a);
        REAL c = 1;
        vec g[CHUNK / LANES] = {{0}};
        for (int i = 0; i < CHUNK; i++) {
            m->c[i] = c *= m->a[i];
            for (int j = 0; j < CHUNK / LANES; j++) put(m->G + i * CHUNK + j * LANES, g[j] *= m->a[i]);
            m->G[i * CHUNK + i] = 1;
            for (int j = 0; j < CHUNK / LANES; j++) g[j] = load(m->G + i * CHUNK + j * LANES);
        }
        scaled(m->qk, m->c, K, m->cqk), scaled(k, m->G + pairs - CHUNK, K, m->kl);
        if (erases) scaled(k, m->c, K, m->cqk + CHUNK * K);
    }
    transposed(k, CHUNK, K, m->kT);
    product((1 + erases) * CHUNK, CHUNK, K, m->qk, K, 1, m->kT, CHUNK, m->PL, CHUNK, SET, FULL);
    for (int at = 0; at < pairs; at += LANES) {
        const vec G = load(m->G + at);
        put(m->PL + at, G * load(m->PL + at));
        if (erases) put(m->PL + pairs + at, G * load(m->below + at) * load(m->PL + pairs + at));
    }
}

/* dw_i += Σ_j L_ji r_j over j > i, r_i = -b_i dw_i: from the last to the first. */
ONCE void solved_back(const desk *m, REAL *dw, REAL *r) {
    const int64_t D = m->D;
    const REAL *L = m->PL + CHUNK * CHUNK;
    for (int i = CHUNK - BLOCK; i >= 0; i -= BLOCK) {
        const int later = i + BLOCK;
        product(BLOCK, D, CHUNK - later, L + later * CHUNK + i, 1, CHUNK, r + later * D, D, dw + i * D, D, ADD, FULL);
        for (int64_t c = 0; c < D; c += LANES) {
            vec done[BLOCK];
#pragma GCC unroll 4
            for (int z = BLOCK - 1; z >= 0; z--) {
                vec now = load(dw + (i + z) * D + c);
#pragma GCC unroll 4
                for (int y = BLOCK - 1; y > z; y--) now += L[(i + y) * CHUNK + i + z] * done[y];
                put(dw + (i + z) * D + c, now);
                put(r + (i + z) * D + c, done[z] = -m->b[i + z] * now);
            }
        }
    }
}

/* dg of the pairs of tokens, weight below the diagonal: all s with i >= s > j. */
ALWAYS void faded_between(desk *m, const REAL *weight) {
    vec since[CHUNK / LANES] = {{0}}; /* by j: the rows from s on */
    for (int s = CHUNK - 1; s >= 0; s--) {
        vec all = {0};
        for (int j = 0; j < CHUNK / LANES; j++) {
            since[j] += load(weight + s * CHUNK + j * LANES);
            all += since[j] * load(m->below + s * CHUNK + j * LANES);
        }
        m->dg[s] += sum(all);
    }
}

/* What was read of the state before the chunk, left to the state behind it, and passed through. */
ALWAYS void faded_around(desk *m, const REAL *since, const REAL *until, REAL through) {
    REAL later = 0;
    for (int i = CHUNK - 1; i >= 0; i--) m->dg[i] += later += since[i];
    for (int i = 0; i < CHUNK; i++) m->dg[i] += through, through += until[i];
}

ONCE void chunks_backward(const sequence *s, desk *m, int64_t h, int erases, int fades) {
    const int64_t K = m->K, D = m->D, chunks = (s->n + CHUNK - 1) / CHUNK, pairs = CHUNK * CHUNK;
    const int both = 1 + erases;
    const REAL *last = m->G + pairs - CHUNK;
    REAL *r = m->dyr + CHUNK * D, *dk = m->dqk + CHUNK * K;
    memset(m->dS, 0, sizeof(REAL) * K * D);
    for (int64_t t = (chunks - 1) * CHUNK; t >= 0; t -= CHUNK) {
        const int64_t tokens = s->n - t < CHUNK ? s->n - t : CHUNK;
        laid_out(s, m, h, t, tokens, erases, fades);
        const REAL *S = s->kept + (h * chunks + t / CHUNK) * K * D;
        const int64_t zero = 0;
        const part u = {s->u + h * s->n * s->d, &zero, s->d, 0};
        copied(erases ? &u : &s->v, erases ? 0 : h, t, tokens, s->d, D, m->u);
        const REAL *w = erases ? m->w : m->u;
        if (erases) scaled(m->u, m->b, D, m->w);
        copied(&s->y, h, t, tokens, s->d, D, m->dyr);
        transposed(w, CHUNK, D, m->wT);

        REAL since[CHUNK] = {0}, until[CHUNK] = {0}, db[CHUNK] = {0};
        soon(&s->dv, h, t, s->n, s->d);
        product(CHUNK, D, K, m->kl, K, 1, m->dS, D, m->dw, D, SET, FULL);
        if (fades) inners(w, m->dw, D, until);
        soon(&s->dq, h, t, s->n, s->d_k);
        product(CHUNK, D, CHUNK, m->PL, 1, CHUNK, m->dyr, D, m->dw, D, ADD, UPPER);
        if (erases) {
            solved_back(m, m->dw, r);
            inners(m->dw, m->u, D, db);
            numbers_back(&s->db, h, t, tokens, db);
        }
        written_back(&s->dv, h, t, tokens, s->d, D, erases ? -1 : 1, erases ? r : m->dw);

        soon(&s->dk, h, t, s->n, s->d_k);
        product(both * CHUNK, CHUNK, D, m->dyr, D, 1, m->wT, CHUNK, m->XZ, CHUNK, SET, FULL);
        for (int at = 0; at < pairs; at += LANES) {
            const vec G = load(m->G + at), X = load(m->XZ + at), Z = erases ? load(m->XZ + pairs + at) : (vec){0};
            if (fades)
                put(m->PL + at, X * load(m->PL + at) + (erases ? Z * load(m->PL + pairs + at) : (vec){0}));
            put(m->XZ + at, G * X);
            if (erases) put(m->XZ + pairs + at, G * load(m->below + at) * Z);
        }

        transposed(S, K, D, m->ST);
        soon(&s->q, h, t - CHUNK, s->n, s->d_k);
        product(both * CHUNK, K, D, m->dyr, D, 1, m->ST, K, m->dqk, K, SET, FULL);
        for (int half = 0; fades && half < both; half++) {
            REAL *part = m->dqk + half * CHUNK * K;
            scaled(part, m->c, K, part);
            inners(m->qk + half * CHUNK * K, part, K, since);
        }
        product(CHUNK, K, CHUNK, m->XZ, CHUNK, 1, m->qk + CHUNK * K, K, m->dqk, K, ADD, LOWER);
        if (erases) product(CHUNK, K, CHUNK, m->XZ + pairs, CHUNK, 1, m->qk + CHUNK * K, K, dk, K, ADD, LOWER);
        if (fades) scaled(w, last, D, m->dw);
        soon(&s->k, h, t - CHUNK, s->n, s->d_k);
        transposed(m->dS, K, D, m->ST);
        product(CHUNK, K, D, fades ? m->dw : w, D, 1, m->ST, K, dk, K, erases ? ADD : SET, FULL);
        product(CHUNK, K, both * CHUNK, m->XZ, 1, CHUNK, m->qk, K, dk, K, ADD, UPPER);
        soon(&s->y, h, t - CHUNK, s->n, s->d);
        if (t) soon_state(S - K * D, K * D);
        soon(erases ? &u : &s->v, erases ? 0 : h, t - CHUNK, s->n, s->d);
        written_back(&s->dq, h, t, tokens, s->d_k, K, 1, m->dqk);
        written_back(&s->dk, h, t, tokens, s->d_k, K, 1, dk);

        if (fades) {
            const REAL all = m->c[CHUNK - 1];
            memset(m->dg, 0, sizeof m->dg);
            faded_between(m, m->PL);
            faded_around(m, since, until, all * inner(m->dS, S, K * D));
            numbers_back(&s->da, h, t, tokens, m->dg);
            for (int64_t c = 0; c < K * D; c += LANES) put(m->dS + c, all * load(m->dS + c));
        }
        product(K, D, both * CHUNK, m->cqk, 1, K, m->dyr, D, m->dS, D, ADD, FULL);
    }
}

/* ---- With a weight for each level of the past, where nothing is erased (levels.py) ----

       y_t = sum over j <= t of lambda_t^(bit length of t xor j) M_tj v_j,       M v the outputs of the rule above

   Inside a chunk lambda multiplies P.  Behind chunk c - 1 the chunks that the lowest bit of c counts become one node,
   the state N_c that they leave.  Chunk t reads one node for each bit of t, the one at t with all lower bits cleared,
   faded by f since then.  So

       N_{t+1} = (G_last k)^T v + sum of f N over the nodes that the lowest bits of t, all set, name
       y = (lambda P) v + sum of lambda f c q^T N over all bits of t

   and the way back is that of a chunk, with the gradient of N_{t+1} for dS'; all of f is fading, of ln f the gradient
   is the sum of what it multiplied, times its derivative. */
#define INSIDE 5 /* levels inside a chunk: bit lengths 0 to 4 */

ALWAYS int bit_length(int64_t x) { return x ? 64 - __builtin_clzll((unsigned long long)x) : 0; }

/* How many nodes there are at most: the bits of the number of chunks. */
ALWAYS int nodes_of(const sequence *s) { return s->levels ? bit_length((s->n + CHUNK - 1) / CHUNK) : 0; }

/* f of each node before each chunk. */
ALWAYS void fadings(const sequence *s, int64_t h, REAL *to, int fades) {
    REAL f[64];
    for (int64_t z = 0; z * CHUNK < s->n; z++) {
        REAL all = 1;
        for (int64_t t = z * CHUNK; fades && t < s->n && t < (z + 1) * CHUNK; t++) all *= *at(&s->a, h, t);
        for (int b = 0; z >> b; b++) to[z * nodes_of(s) + b] = f[b], f[b] *= all;
        f[__builtin_ctzll(~(unsigned long long)z)] = 1;
    }
}

/* The weight of a level for each token of a chunk. */
ALWAYS void weights(const sequence *s, int64_t h, int64_t t, int64_t tokens, int level, REAL *to) {
    for (int i = 0; i < CHUNK; i++) to[i] = i < tokens && level < s->levels ? at(&s->l, h, t + i)[level] : 0;
}

/* P and, at m->level, the weights of its pairs. */
ALWAYS void laid_out_levels(const sequence *s, desk *m, int64_t h, int64_t t, int64_t tokens, int fades) {
    laid_out(s, m, h, t, tokens, 0, fades);
    for (int i = 0; i < CHUNK; i++)
        for (int j = 0; j < CHUNK; j++) {
            const int level = bit_length(i ^ j);
            m->level[i * CHUNK + j] = i < tokens && level < s->levels ? at(&s->l, h, t + i)[level] : 0;
        }
}

ALWAYS void added_up(REAL *to, REAL by, const REAL *x, int64_t size) {
    for (int64_t c = 0; c < size; c += LANES) put(to + c, load(to + c) + by * load(x + c));
}

ONCE void levels_on(const sequence *s, desk *m, int64_t h, int erases, int fades) {
    (void)erases;
    const int64_t K = m->K, D = m->D, KD = K * D, chunks = (s->n + CHUNK - 1) / CHUNK;
    REAL f[64], by[CHUNK];
    for (int64_t z = 0; z < chunks; z++) {
        const int64_t t = z * CHUNK, tokens = s->n - t < CHUNK ? s->n - t : CHUNK;
        soon(&s->y, h, t, s->n, s->d), soon(&s->l, h, t, s->n, s->levels);
        laid_out_levels(s, m, h, t, tokens, fades);
        copied(&s->v, h, t, tokens, s->d, D, m->w);
        for (int at = 0; at < CHUNK * CHUNK; at += LANES) put(m->PL + at, load(m->PL + at) * load(m->level + at));
        product(CHUNK, D, CHUNK, m->PL, CHUNK, 1, m->w, D, m->dw, D, SET, LOWER);
        soon(&s->q, h, t + CHUNK, s->n, s->d_k), soon(&s->k, h, t + CHUNK, s->n, s->d_k);
        for (int b = 0; z >> b; b++) {
            if (!(z >> b & 1)) continue;
            weights(s, h, t, tokens, INSIDE + b, by);
            for (int i = 0; i < CHUNK; i++) by[i] *= f[b];
            scaled(m->cqk, by, K, m->dqk);
            product(CHUNK, D, K, m->dqk, K, 1, m->N + b * KD, D, m->dw, D, ADD, FULL);
        }
        written_back(&s->y, h, t, tokens, s->d, D, 1, m->dw);
        soon(&s->v, h, t + CHUNK, s->n, s->d);
        const REAL all = fades ? m->c[CHUNK - 1] : 1;
        const int into = __builtin_ctzll(~(unsigned long long)z); /* the bit of the new node */
        for (int b = 0; z >> b; b++) f[b] *= all;
        product(K, D, CHUNK, m->kl, 1, K, m->w, D, m->dS, D, SET, FULL);
        for (int b = 0; b < into; b++) added_up(m->dS, f[b], m->N + b * KD, KD);
        memcpy(m->N + into * KD, m->dS, sizeof(REAL) * KD), f[into] = 1;
        if (s->kept) memcpy(s->kept + (h * chunks + z) * KD, m->dS, sizeof(REAL) * KD);
    }
}

ONCE void levels_back(const sequence *s, desk *m, int64_t h, int erases, int fades) {
    (void)erases;
    const int64_t K = m->K, D = m->D, KD = K * D, chunks = (s->n + CHUNK - 1) / CHUNK, pairs = CHUNK * CHUNK;
    REAL *k = m->qk + CHUNK * K, *dk = m->dqk + CHUNK * K, *X = m->XZ, df[64] = {0};
    fadings(s, h, m->f, fades);
    memset(m->dN, 0, sizeof(REAL) * nodes_of(s) * KD);
    for (int64_t z = chunks - 1; z >= 0; z--) {
        const int64_t t = z * CHUNK, tokens = s->n - t < CHUNK ? s->n - t : CHUNK;
        const int into = __builtin_ctzll(~(unsigned long long)z);
        const REAL *f = m->f + z * nodes_of(s), *dS = m->dN + into * KD;
        soon(&s->dq, h, t, s->n, s->d_k), soon(&s->dk, h, t, s->n, s->d_k), soon(&s->dv, h, t, s->n, s->d);
        laid_out_levels(s, m, h, t, tokens, fades);
        const REAL all = fades ? m->c[CHUNK - 1] : 1, *last = m->G + pairs - CHUNK;
        copied(&s->v, h, t, tokens, s->d, D, m->w);
        copied(&s->y, h, t, tokens, s->d, D, m->dyr);
        transposed(m->w, CHUNK, D, m->wT);

        REAL since[CHUNK] = {0}, until[CHUNK] = {0}, of_f = 0;
        for (int b = 0; z >> b; b++) {
            if (!(z >> b & 1)) continue;
            const REAL *N = s->kept + (h * chunks + (z >> b << b) - 1) * KD;
            if (b < into || z == chunks - 1) transposed(N, K, D, m->NT + b * KD);
            if (b < into) {
                df[b] = f[b] * all * inner(dS, N, KD);
                memset(m->dN + b * KD, 0, sizeof(REAL) * KD);
                added_up(m->dN + b * KD, f[b] * all, dS, KD);
            }
            of_f += df[b];
        }
        product(CHUNK, D, K, m->kl, K, 1, dS, D, m->dw, D, SET, FULL);
        inners(m->w, m->dw, D, until);
        product(CHUNK, CHUNK, D, m->dyr, D, 1, m->wT, CHUNK, X, CHUNK, SET, FULL);
        for (int i = 0; i < tokens; i++)
            for (int j = 0; j <= i; j++) {
                const int level = bit_length(i ^ j);
                ((REAL *)at(&s->dl, h, t + i))[level] += X[i * CHUNK + j] * m->PL[i * CHUNK + j];
            }
        for (int at = 0; at < pairs; at += LANES) {
            const vec level = load(m->level + at);
            put(m->PL + at, level * load(m->PL + at));
            put(m->XZ + pairs + at, load(X + at) * load(m->PL + at));
            put(X + at, load(m->G + at) * level * load(X + at));
        }
        product(CHUNK, D, CHUNK, m->PL, 1, CHUNK, m->dyr, D, m->dw, D, ADD, UPPER);
        written_back(&s->dv, h, t, tokens, s->d, D, 1, m->dw);

        soon(&s->q, h, t - CHUNK, s->n, s->d_k), soon(&s->k, h, t - CHUNK, s->n, s->d_k);
        product(CHUNK, K, CHUNK, X, CHUNK, 1, k, K, m->dqk, K, SET, LOWER);
        for (int b = 0; z >> b; b++) {
            if (!(z >> b & 1)) continue;
            REAL weight[CHUNK], read[CHUNK] = {0};
            weights(s, h, t, tokens, INSIDE + b, weight);
            product(CHUNK, K, D, m->dyr, D, 1, m->NT + b * KD, K, dk, K, SET, FULL);
            inners(m->cqk, dk, K, read);
            for (int i = 0; i < tokens && INSIDE + b < s->levels; i++)
                ((REAL *)at(&s->dl, h, t + i))[INSIDE + b] += f[b] * read[i];
            for (int i = 0; i < CHUNK; i++) {
                weight[i] *= f[b];
                since[i] += read[i] * weight[i], df[b] += read[i] * weight[i];
                added_up(m->dqk + i * K, weight[i] * (fades ? m->c[i] : 1), dk + i * K, K);
            }
            scaled(m->cqk, weight, K, dk);
            product(K, D, CHUNK, dk, 1, K, m->dyr, D, m->dN + b * KD, D, ADD, FULL);
        }
        written_back(&s->dq, h, t, tokens, s->d_k, K, 1, m->dqk);

        soon(&s->v, h, t - CHUNK, s->n, s->d), soon(&s->y, h, t - CHUNK, s->n, s->d);
        scaled(m->w, last, D, m->dw);
        transposed(dS, K, D, m->ST);
        product(CHUNK, K, D, m->dw, D, 1, m->ST, K, dk, K, SET, FULL);
        product(CHUNK, K, CHUNK, X, 1, CHUNK, m->qk, K, dk, K, ADD, UPPER);
        written_back(&s->dk, h, t, tokens, s->d_k, K, 1, dk);
        if (fades) {
            memset(m->dg, 0, sizeof m->dg);
            faded_between(m, m->XZ + pairs);
            faded_around(m, since, until, of_f);
            numbers_back(&s->da, h, t, tokens, m->dg);
        }
    }
}

/* Runs all heads, at a desk where everything begins at a whole vector. */
static int at_a_desk(const sequence *s, void (*run)(const sequence *, desk *, int64_t, int, int)) {
    desk m = {.K = whole(s->d_k) * LANES, .D = whole(s->d) * LANES};
    const int erases = s->b.x != NULL, fades = s->a.x != NULL;
    const int64_t K = CHUNK * m.K, D = CHUNK * m.D, KD = m.K * m.D, pairs = CHUNK * CHUNK;
    const int64_t nodes = nodes_of(s) * KD;
    struct {
        REAL **to;
        int64_t size;
    } parts[] = {
        {&m.qk, 2 * K}, {&m.cqk, 2 * K}, {&m.kl, K}, {&m.kT, K},  {&m.wT, D},   {&m.PL, 2 * pairs},
        {&m.XZ, 2 * pairs}, {&m.G, pairs}, {&m.below, pairs}, {&m.dS, KD}, {&m.ST, KD},
        {&m.u, D}, {&m.w, D}, {&m.dw, D}, {&m.dyr, 2 * D}, {&m.dqk, 2 * K},
        {&m.N, nodes}, {&m.dN, nodes}, {&m.NT, nodes}, {&m.level, pairs},
        {&m.f, s->levels ? s->n * nodes_of(s) : 0}};
    int64_t size = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) size += parts[i].size;
    REAL *room = aligned_alloc(64, (sizeof(REAL) * size + 63) / 64 * 64);
    if (!room) return 1;
    REAL *next = room;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) *parts[i].to = next, next += parts[i].size;
    for (int i = 0; i < CHUNK; i++)
        for (int j = 0; j < CHUNK; j++) m.below[i * CHUNK + j] = j < i, m.G[i * CHUNK + j] = j <= i;
    if (!fades) m.cqk = m.qk, m.kl = m.qk + K;
    for (int64_t h = 0; h < s->heads; h++) run(s, &m, h, erases, fades);
    free(room);
    return 0;
}

int levels_forward(const sequence *s) { return at_a_desk(s, levels_on); }

int levels_backward(const sequence *s) { return at_a_desk(s, levels_back); }

int rule_backward(const sequence *s) { return s->gates > 1 ? tokens_back(s) : at_a_desk(s, chunks_backward); }
