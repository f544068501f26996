/* The rule of a matrix memory and its derivative; REAL is float or double.

       S_t = (I - k_t e_t^T) diag(a_t) S_{t-1} + k_t v_t^T        y_t = q_t^T S_t

   A token writes u_t = v_t - (diag(a_t) S_{t-1})^T e_t under k_t.  Without e nothing is erased, without a
   nothing fades; a token has one a, or one a row.  All heads of all texts, one after the other: a memory
   stays in the first cache.

   Forward, token by token, a row of the memory is a vector (over d): e^T S and q^T S are sums of vectors.  Kept
   for the way back are some states, and u where something is erased.

   Backward, CHUNK tokens are taken together, as products of matrices (the end of this file: measured, this is
   a third quicker; forward it is not).  Where rows fade each by itself it is token by token, too, and a column
   is a vector (over d_k): the gradients of q, k, e and a are sums of vectors, only that of v needs sums
   within one.

       dS += q dy^T    du = dS^T k    dk = dS u    dq = S_t dy    dv = du
       de = -diag(a) S du    dS' = dS - e du^T    da = rows of <dS', S>    dS <- diag(a) dS'
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
    int64_t heads, n, d_k, d, gates; /* gates: numbers a_t has, 0, 1 or d_k */
    part q, k, v, e, a, y;
    REAL *kept; /* the states before every STRIDE-th or CHUNK-th token, or NULL */
    REAL *u;    /* (heads, n, d), where something is erased */
    part dq, dk, dv, de, da;
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

/* Forward, columns never meet: a few vectors of them are a memory of their own.  S: d_k rows of J vectors. */
ALWAYS void forward_tile(const sequence *s, int64_t h, int64_t c, vec *restrict S, int J, int erases, int gates) {
    const int d_k = (int)s->d_k;
    const int64_t room = s->d - c, width = (room < J * LANES ? room : J * LANES);
    memset(S, 0, sizeof(vec) * d_k * J);
    for (int64_t t = 0; t < s->n; t++) {
        const REAL *q = at(&s->q, h, t), *k = at(&s->k, h, t), *a = gates ? at(&s->a, h, t) : NULL;
        ahead(&s->q, h, t + AHEAD, s->n, d_k), ahead(&s->k, h, t + AHEAD, s->n, d_k);
        ahead(&s->v, h, t + AHEAD, s->n, s->d), ahead(&s->y, h, t + AHEAD, s->n, s->d);
        if (erases) ahead(&s->e, h, t + AHEAD, s->n, d_k);
        if (gates > 1) ahead(&s->a, h, t + AHEAD, s->n, d_k);
        if (s->kept && t % (gates < 2 ? CHUNK : STRIDE) == 0) keep(s, h, t, c, width, (REAL *)S, J * LANES, gates);
        vec u[TILE] = {{0}}, y[TILE] = {{0}};
        memcpy(u, at(&s->v, h, t) + c, width * sizeof(REAL));
        if (erases) {
            const REAL *e = at(&s->e, h, t);
            vec even[TILE] = {{0}}, odd[TILE] = {{0}};
            int i = 0;
            for (; i + 1 < d_k; i += 2) {
                const REAL e0 = e[i] * gate(a, gates, i), e1 = e[i + 1] * gate(a, gates, i + 1);
                for (int j = 0; j < J; j++) even[j] += e0 * S[i * J + j], odd[j] += e1 * S[(i + 1) * J + j];
            }
            for (; i < d_k; i++)
                for (int j = 0; j < J; j++) even[j] += e[i] * gate(a, gates, i) * S[i * J + j];
            for (int j = 0; j < J; j++) u[j] -= even[j] + odd[j];
            if (s->u) memcpy(s->u + (h * s->n + t) * s->d + c, u, width * sizeof(REAL));
        }
        for (int i = 0; i < d_k; i++) {
            const REAL q_i = q[i], k_i = k[i], a_i = gate(a, gates, i);
            for (int j = 0; j < J; j++) {
                const vec row = (gates ? a_i * S[i * J + j] : S[i * J + j]) + k_i * u[j];
                S[i * J + j] = row;
                y[j] += q_i * row;
            }
        }
        memcpy((REAL *)at(&s->y, h, t) + c, y, width * sizeof(REAL));
    }
}

/* Backward, LANES rows are one vector; dS and each of the states: so many times d vectors. */
typedef struct {
    vec *dS, *states, *along;
    REAL *du;
} room;

ALWAYS const REAL *written(const sequence *s, int64_t h, int64_t t, int erases) {
    return erases ? s->u + (h * s->n + t) * s->d : at(&s->v, h, t);
}

/* The gates of some rows; 1 where nothing fades. */
ALWAYS vec faded(const sequence *s, int64_t h, int64_t t, int i, int gates) {
    return gates > 1 ? rows(&s->a, h, t, i, s->d_k) : (gates ? *at(&s->a, h, t) : 1) - (vec){0};
}

/* Once more forward: the states before the tokens of a stretch, from the first of them. */
ALWAYS void again(const sequence *s, int64_t h, int64_t from, int64_t to, room m, int erases, int gates) {
    const int64_t d = s->d, size = d * whole(s->d_k);
    for (int64_t t = from; t + 1 < to; t++) {
        const vec *S = m.states + (t - from) * size;
        vec *restrict next = m.states + (t - from + 1) * size;
        const REAL *u = written(s, h, t, erases);
        for (int i = 0; i < whole(s->d_k); i++, S += d, next += d) {
            const vec k = rows(&s->k, h, t, i, s->d_k), a = faded(s, h, t, i, gates);
            for (int64_t c = 0; c < d; c++) next[c] = (gates ? a * S[c] : S[c]) + u[c] * k;
        }
    }
}

/* dS += q dy^T, dk = dS u, dq = S_t dy; du so far; where nothing is erased also da and dS as it is before. */
ALWAYS REAL read_back(const sequence *s, int64_t h, int64_t t, int i, vec *restrict dS, const vec *restrict S,
                      vec *restrict along, int erases, int gates) {
    const int64_t d = s->d;
    const REAL *u = written(s, h, t, erases), *dy = at(&s->y, h, t);
    const vec q = rows(&s->q, h, t, i, s->d_k), k = rows(&s->k, h, t, i, s->d_k), a = faded(s, h, t, i, gates);
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
        if (!erases && gates) da##z += D * before;            \
        dS[c + z] = !erases && gates ? a * D : D;             \
    } while (0)
    int64_t c = 0;
    for (; c + 1 < d; c += 2) {
        STEP(0);
        STEP(1);
    }
    if (c < d) STEP(0);
#undef STEP
    added(&s->dk, h, t, i, dk0 + dk1, s->d_k);
    added(&s->dq, h, t, i, a * (dq0 + dq1) + read * k, s->d_k);
    if (gates > 1 && !erases) added(&s->da, h, t, i, da0 + da1, s->d_k);
    return gates == 1 && !erases ? sum(da0 + da1) : 0;
}

/* de = -diag(a) S du, dS' = dS - e du^T, da, and dS as it is before the token. */
ALWAYS REAL erase_back(const sequence *s, int64_t h, int64_t t, int i, vec *restrict dS, const vec *restrict S,
                       const REAL *restrict du, int gates) {
    const int64_t d = s->d;
    const vec e = rows(&s->e, h, t, i, s->d_k), a = faded(s, h, t, i, gates);
    vec de0 = {0}, de1 = {0}, da0 = {0}, da1 = {0};
#define STEP(z)                                               \
    do {                                                      \
        const vec D = dS[c + z] - du[c + z] * e, before = S[c + z]; \
        de##z -= du[c + z] * before;                          \
        if (gates) da##z += D * before;                       \
        dS[c + z] = gates ? a * D : D;                        \
    } while (0)
    int64_t c = 0;
    for (; c + 1 < d; c += 2) {
        STEP(0);
        STEP(1);
    }
    if (c < d) STEP(0);
#undef STEP
    added(&s->de, h, t, i, a * (de0 + de1), s->d_k);
    if (gates > 1) added(&s->da, h, t, i, da0 + da1, s->d_k);
    return gates == 1 ? sum(da0 + da1) : 0;
}

ALWAYS void backward_head(const sequence *s, int64_t h, room m, int erases, int gates) {
    const int64_t d = s->d, stretches = (s->n + STRIDE - 1) / STRIDE, size = d * whole(s->d_k);
    memset(m.dS, 0, sizeof(vec) * size);
    for (int64_t from = (stretches - 1) * STRIDE; from >= 0; from -= STRIDE) {
        const int64_t to = from + STRIDE < s->n ? from + STRIDE : s->n;
        memcpy(m.states, s->kept + (h * stretches + from / STRIDE) * size * LANES, sizeof(vec) * size);
        again(s, h, from, to, m, erases, gates);
        for (int64_t t = to - 1; t >= from; t--) {
            const vec *S = m.states + (t - from) * size;
            REAL da = 0;
            for (int i = 0; i < whole(s->d_k); i++)
                da += read_back(s, h, t, i, m.dS + i * d, S + i * d, m.along, erases, gates);
            for (int64_t c = 0; c < d; c++) m.du[c] = sum(m.along[c]);
            for (int i = 0; erases && i < whole(s->d_k); i++)
                da += erase_back(s, h, t, i, m.dS + i * d, S + i * d, m.du, gates);
            REAL *dv = (REAL *)at(&s->dv, h, t);
            for (int64_t c = 0; c < d; c++) dv[c] += m.du[c];
            if (gates == 1) *(REAL *)at(&s->da, h, t) += da;
        }
    }
}

/* Each kind of rule has loops of its own. */
#define KINDS(call, ...)                             \
    do {                                             \
        if (s->e.x) {                                \
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

static int tokens_back(const sequence *s) {
    const int64_t size = s->d * whole(s->d_k);
    vec *m = aligned_alloc(32, sizeof(vec) * (size * (STRIDE + 1) + 2 * s->d));
    if (!m) return 1;
    const room all = {m, m + size, m + size * (STRIDE + 1), (REAL *)(m + size * (STRIDE + 1) + s->d)};
    for (int64_t h = 0; h < s->heads; h++)
        if (s->e.x) backward_head(s, h, all, 1, 2);
        else backward_head(s, h, all, 0, 2);
    free(m);
    return 0;
}

/* ---- Backward, CHUNK tokens together, where nothing fades or all rows alike ----

   With c_i the gates' product from the chunk's start to token i, G_ij that after token j up to i, and S the state
   before the chunk (see rule.py; A is strictly lower, P lower):

       A_ij = G_ij <e_i, k_j>    P_ij = G_ij <q_i, k_j>    (I + A) u = v - c e^T S
       y = P u + c q^T S         S' = c_last S + (G_last k)^T u

   so from dy and dS',

       (I + A)^T w = P^T dy + G_last k^T dS'    dv = w    X = G dy u^T    Z = -G w u^T  (lower, strictly lower)
       dq = X k + c S dy      de = Z k - c S w      dk = X^T q + Z^T e + G_last dS' u
       dS = c_last dS' + (c q)^T dy - (c e)^T w
       dg_s, g = ln a: all that was multiplied by a_s, times its derivative

   Tokens are copied into rows of whole vectors, zeros behind them.  A product has the vectors on its right. */
#define BLOCK 4 /* rows of a product at a time */

typedef struct {
    int64_t K, D; /* d_k and d in whole vectors */
    REAL *q, *k, *e, *u, *y;                 /* CHUNK rows */
    REAL *qc, *kc, *ec;                      /* c q, G_last k, -c e */
    REAL *S, *dS, *ST, *dST;                 /* K x D, D x K */
    REAL *kT, *uT;                           /* K x CHUNK, D x CHUNK */
    REAL *P, *A, *X, *Z, *G;                 /* CHUNK x CHUNK; A is -A */
    REAL *w, *dq, *dk, *de, *other;
    REAL c[CHUNK], a[CHUNK], dg[CHUNK + 1];
} desk;

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

/* The first halves of two vectors, interleaved; or the second. */
ALWAYS vec interleaved(vec x, vec y, const int second) {
    places from;
#pragma GCC unroll 8
    for (int l = 0; l < LANES; l++) from[l] = (l & 1) * LANES + second * LANES / 2 + l / 2;
    return __builtin_shuffle(x, y, from);
}

/* Rows and columns change places: interleaving the halves log2(LANES) times is a transposition. */
ONCE void transposed(const REAL *x, int64_t rows, int64_t columns, REAL *to) {
    for (int64_t i = 0; i < rows; i += LANES)
        for (int64_t j = 0; j < columns; j += LANES) {
            vec a[LANES], b[LANES];
            for (int l = 0; l < LANES; l++) a[l] = load(x + (i + l) * columns + j);
#pragma GCC unroll 3
            for (int half = 1; half < LANES; half *= 2) {
#pragma GCC unroll 4
                for (int l = 0; l < LANES / 2; l++) {
                    b[2 * l] = interleaved(a[l], a[l + LANES / 2], 0);
                    b[2 * l + 1] = interleaved(a[l], a[l + LANES / 2], 1);
                }
                for (int l = 0; l < LANES; l++) a[l] = b[l];
            }
            for (int l = 0; l < LANES; l++) put(to + (j + l) * rows + i, a[l]);
        }
}

/* Tokens t … of a head as rows of `width` numbers; zeros where there are none. */
ALWAYS void copied(const part *p, int64_t h, int64_t t, int64_t tokens, int64_t d, int64_t width, REAL *to) {
    for (int64_t i = 0; i < CHUNK; i++, to += width) {
        const REAL *x = i < tokens ? at(p, h, t + i) : NULL;
        int64_t c = 0;
        if (x)
            for (; c + LANES <= d; c += LANES) memcpy(to + c, x + c, sizeof(vec));
        for (; c < width; c++) to[c] = x && c < d ? x[c] : 0;
    }
}

ALWAYS void written_back(const part *p, int64_t h, int64_t t, int64_t tokens, int64_t d, int64_t width,
                         const REAL *from) {
    for (int64_t i = 0; i < tokens; i++, from += width) {
        REAL *x = (REAL *)at(p, h, t + i);
        int64_t c = 0;
        for (; c + LANES <= d; c += LANES) {
            vec now = load(from + c), before;
            if (p->shared) memcpy(&before, x + c, sizeof before), now += before;
            memcpy(x + c, &now, sizeof now);
        }
        for (; c < d; c++) x[c] = (p->shared ? x[c] : 0) + from[c];
    }
}

/* to_i = by_i x_i, rows of `width`. */
ALWAYS void scaled(const REAL *x, const REAL *by, REAL sign, int64_t width, REAL *to) {
    for (int i = 0; i < CHUNK; i++)
        for (int64_t c = 0; c < width; c += LANES)
            put(to + i * width + c, sign * by[i] * load(x + i * width + c));
}

ALWAYS REAL inner(const REAL *x, const REAL *y, int64_t width) {
    vec s = {0};
    for (int64_t c = 0; c < width; c += LANES) s += load(x + c) * load(y + c);
    return sum(s);
}

/* A chunk: its tokens, c and G, P and -A. */
ONCE void laid_out(const sequence *s, desk *m, int64_t h, int64_t t, int64_t tokens, int erases, int fades) {
    const int64_t K = m->K;
    copied(&s->q, h, t, tokens, s->d_k, K, m->q);
    copied(&s->k, h, t, tokens, s->d_k, K, m->k);
    if (erases) copied(&s->e, h, t, tokens, s->d_k, K, m->e);
    for (int i = 0; i < CHUNK; i++) m->a[i] = fades && i < tokens ? *at(&s->a, h, t + i) : 1;
    REAL c = 1;
    for (int i = 0; i < CHUNK; i++) m->c[i] = c *= m->a[i];
    for (int i = 0; i < CHUNK; i++) {
        for (int j = 0; j < CHUNK; j += LANES)
            put(m->G + i * CHUNK + j, i ? m->a[i] * load(m->G + (i - 1) * CHUNK + j) : (vec){0});
        m->G[i * CHUNK + i] = 1;
    }
    const REAL *last = m->G + (CHUNK - 1) * CHUNK;
    if (fades) scaled(m->q, m->c, 1, K, m->qc), scaled(m->k, last, 1, K, m->kc);
    if (erases) scaled(m->e, m->c, -1, K, m->ec);
    transposed(m->k, CHUNK, K, m->kT);
    product(CHUNK, CHUNK, K, m->q, K, 1, m->kT, CHUNK, m->P, CHUNK, SET, FULL);
    if (erases) product(CHUNK, CHUNK, K, m->e, K, 1, m->kT, CHUNK, m->A, CHUNK, SET, FULL);
    for (int i = 0; i < CHUNK; i++)
        for (int j = 0; j < CHUNK; j += LANES) {
            const int at = i * CHUNK + j;
            put(m->P + at, load(m->P + at) * load(m->G + at));
            if (!erases) continue;
            put(m->A + at, -load(m->A + at) * load(m->G + at));
        }
    for (int i = 0; erases && i < CHUNK; i++) m->A[i * CHUNK + i] = 0;
}

/* w <- (I + A)^-T w, from the last to the first. */
ONCE void solved_back(const desk *m, REAL *w) {
    const int64_t D = m->D;
    for (int i = CHUNK - BLOCK; i >= 0; i -= BLOCK) {
        const int later = i + BLOCK;
        product(BLOCK, D, CHUNK - later, m->A + later * CHUNK + i, 1, CHUNK, w + later * D, D, w + i * D, D, ADD, FULL);
        for (int r = BLOCK - 2; r >= 0; r--)
            for (int b = r + 1; b < BLOCK; b++)
                for (int64_t c = 0; c < D; c += LANES) {
                    const REAL a = m->A[(i + b) * CHUNK + i + r];
                    put(w + (i + r) * D + c, load(w + (i + r) * D + c) + a * load(w + (i + b) * D + c));
                }
    }
}

/* Told a chunk ahead. */
ALWAYS void soon(const part *p, int64_t h, int64_t t, int64_t n, int64_t d) {
    for (int64_t i = t; i < t + CHUNK; i++) ahead(p, h, i, n, d);
}

ALWAYS void next_tokens(const sequence *s, int64_t h, int64_t t) {
    soon(&s->q, h, t, s->n, s->d_k), soon(&s->k, h, t, s->n, s->d_k), soon(&s->e, h, t, s->n, s->d_k);
    soon(&s->v, h, t, s->n, s->d), soon(&s->y, h, t, s->n, s->d);
}

/* From the pairs of tokens: all s with i >= s > j. */
ALWAYS void faded_between(desk *m, const REAL *weight) {
    for (int i = 0; i < CHUNK; i++) {
        REAL earlier = 0;
        for (int s = 1; s <= i; s++) m->dg[s] += earlier += weight[i * CHUNK + s - 1];
    }
}

ONCE void chunks_backward(const sequence *s, desk *m, int64_t h, int erases, int fades) {
    const int64_t K = m->K, D = m->D, chunks = (s->n + CHUNK - 1) / CHUNK;
    const REAL *qc = fades ? m->qc : m->q, *kc = fades ? m->kc : m->k, *last = m->G + (CHUNK - 1) * CHUNK;
    memset(m->dS, 0, sizeof(REAL) * K * D);
    for (int64_t t = (chunks - 1) * CHUNK; t >= 0; t -= CHUNK) {
        const int64_t tokens = s->n - t < CHUNK ? s->n - t : CHUNK;
        next_tokens(s, h, t - CHUNK);
        soon(&s->dq, h, t, s->n, s->d_k), soon(&s->dk, h, t, s->n, s->d_k);
        soon(&s->dv, h, t, s->n, s->d), soon(&s->de, h, t, s->n, s->d_k);
        laid_out(s, m, h, t, tokens, erases, fades);
        memcpy(m->S, s->kept + (h * chunks + t / CHUNK) * K * D, sizeof(REAL) * K * D);
        const int64_t zero = 0;
        const part u = {s->u + h * s->n * s->d, &zero, s->d, 0};
        copied(erases ? &u : &s->v, erases ? 0 : h, t, tokens, s->d, D, m->u);
        copied(&s->y, h, t, tokens, s->d, D, m->y);
        transposed(m->u, CHUNK, D, m->uT);
        transposed(m->S, K, D, m->ST);
        transposed(m->dS, K, D, m->dST);

        product(CHUNK, D, K, kc, K, 1, m->dS, D, m->w, D, SET, FULL);
        product(CHUNK, D, CHUNK, m->P, 1, CHUNK, m->y, D, m->w, D, ADD, UPPER);
        if (erases) solved_back(m, m->w);
        written_back(&s->dv, h, t, tokens, s->d, D, m->w);

        product(CHUNK, CHUNK, D, m->y, D, 1, m->uT, CHUNK, m->X, CHUNK, SET, FULL);
        if (erases) product(CHUNK, CHUNK, D, m->w, D, 1, m->uT, CHUNK, m->Z, CHUNK, SET, FULL);
        memset(m->dg, 0, sizeof m->dg);
        for (int i = 0; i < CHUNK; i++)
            for (int j = 0; j < CHUNK; j += LANES) {
                const int at = i * CHUNK + j;
                const vec G = load(m->G + at), X = load(m->X + at), Z = erases ? load(m->Z + at) : (vec){0};
                if (fades)
                    put(m->other + at, X * load(m->P + at) + (erases ? Z * load(m->A + at) : (vec){0}));
                put(m->X + at, G * X);
                if (!erases) continue;
                put(m->Z + at, -G * Z);
            }
        for (int i = 0; erases && i < CHUNK; i++) m->Z[i * CHUNK + i] = 0;
        if (fades) faded_between(m, m->other);

        REAL since[CHUNK] = {0}, until[CHUNK] = {0};
        product(CHUNK, K, D, m->y, D, 1, m->ST, K, m->dq, K, SET, FULL);
        if (fades) scaled(m->dq, m->c, 1, K, m->dq);
        for (int i = 0; fades && i < CHUNK; i++) since[i] += inner(m->q + i * K, m->dq + i * K, K);
        product(CHUNK, K, CHUNK, m->X, CHUNK, 1, m->k, K, m->dq, K, ADD, LOWER);
        written_back(&s->dq, h, t, tokens, s->d_k, K, m->dq);

        product(CHUNK, K, D, m->u, D, 1, m->dST, K, m->dk, K, SET, FULL);
        if (fades) scaled(m->dk, last, 1, K, m->dk);
        for (int i = 0; fades && i < CHUNK; i++) until[i] += inner(m->k + i * K, m->dk + i * K, K);
        product(CHUNK, K, CHUNK, m->X, 1, CHUNK, m->q, K, m->dk, K, ADD, UPPER);
        if (erases) {
            product(CHUNK, K, CHUNK, m->Z, 1, CHUNK, m->e, K, m->dk, K, ADD, UPPER);
            product(CHUNK, K, D, m->w, D, 1, m->ST, K, m->de, K, SET, FULL);
            scaled(m->de, m->c, -1, K, m->de);
            for (int i = 0; fades && i < CHUNK; i++) since[i] += inner(m->e + i * K, m->de + i * K, K);
            product(CHUNK, K, CHUNK, m->Z, CHUNK, 1, m->k, K, m->de, K, ADD, LOWER);
            written_back(&s->de, h, t, tokens, s->d_k, K, m->de);
        }
        written_back(&s->dk, h, t, tokens, s->d_k, K, m->dk);

        const REAL all = m->c[CHUNK - 1];
        if (fades) {
            REAL later = 0, earlier = all * inner(m->dS, m->S, K * D);
            for (int i = CHUNK - 1; i >= 0; i--) m->dg[i] += later += since[i];
            for (int i = 0; i < CHUNK; i++) m->dg[i] += earlier, earlier += until[i];
            for (int i = 0; i < tokens; i++) {
                REAL *dg = (REAL *)at(&s->da, h, t + i);
                *dg = (s->da.shared ? *dg : 0) + m->dg[i];
            }
            for (int64_t c = 0; c < K * D; c += LANES) put(m->dS + c, all * load(m->dS + c));
        }
        product(K, D, CHUNK, qc, 1, K, m->y, D, m->dS, D, ADD, FULL);
        if (erases) product(K, D, CHUNK, m->ec, 1, K, m->w, D, m->dS, D, ADD, FULL);
    }
}

static int chunks_back(const sequence *s) {
    desk m = {.K = whole(s->d_k) * LANES, .D = whole(s->d) * LANES};
    const int64_t K = CHUNK * m.K, D = CHUNK * m.D, KD = m.K * m.D, pairs = CHUNK * CHUNK;
    struct {
        REAL **to;
        int64_t size;
    } parts[] = {
        {&m.q, K},   {&m.k, K},   {&m.e, K},   {&m.qc, K},  {&m.kc, K},  {&m.ec, K},     {&m.dq, K},
        {&m.dk, K},  {&m.de, K},  {&m.kT, K},  {&m.u, D},   {&m.y, D},   {&m.w, D},      {&m.uT, D},
        {&m.S, KD},  {&m.dS, KD}, {&m.ST, KD}, {&m.dST, KD}, {&m.P, pairs}, {&m.A, pairs}, {&m.X, pairs},
        {&m.Z, pairs}, {&m.G, pairs}, {&m.other, pairs}};
    int64_t size = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) size += parts[i].size;
    REAL *room = aligned_alloc(64, (sizeof(REAL) * size + 63) / 64 * 64);
    if (!room) return 1;
    REAL *next = room;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) *parts[i].to = next, next += parts[i].size;
    const int erases = s->e.x != NULL, fades = s->a.x != NULL;
    for (int64_t h = 0; h < s->heads; h++) chunks_backward(s, &m, h, erases, fades);
    free(room);
    return 0;
}

int rule_backward(const sequence *s) { return s->gates > 1 ? tokens_back(s) : chunks_back(s); }
