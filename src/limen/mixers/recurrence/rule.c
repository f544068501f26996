/* The rule of a matrix memory and its derivative; REAL is float or double.

       S_t = (I - b_t k_t k_t^T) diag(a_t) S_{t-1} + b_t k_t v_t^T        y_t = q_t^T S_t

   A token writes b_t u_t under k_t, u_t = v_t - (diag(a_t) S_{t-1})^T k_t; b is the beta of rule.py.  Without b
   nothing is erased and v_t is written, without a nothing fades; a token has one a, or one a row.  All heads of
   all texts, one after the other.  Where a token has e and r, and one a a row, what the memory held under e is removed
   under r, whatever is written:

       S_t = diag(a_t) S_{t-1} + k_t v_t^T + r_t u_t^T        u_t = -S_{t-1}^T e_t

   Chunks of tokens are taken together, as products of matrices (the second half of this file): backward, and forward
   where the memory is large.  Elsewhere, and where rows fade each by itself, it is token by token.  Forward, a row of
   the memory is a vector (over d): k^T S and q^T S are sums of vectors.  Backward, a column is one (over d_k): the
   gradients of q, k and a are sums of vectors, only that of v needs sums within one.

       dS += q dy^T    dw = dS^T k    dk = b dS u    dq = S_t dy    dv = b dw    db = <dw, u>
       dk -= diag(a) S dv    dS' = dS - k dv^T    da = rows of <dS', S>    dS <- diag(a) dS'
   removing    dk = dS v    dv = dS^T k    dr = dS u    du = dS^T r    de = -S du    dS <- diag(a) dS - e du^T

   Kept for the way back are the states before some tokens, and u where something is erased.
*/
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __AVX__ /* as wide as a register, where gcc would make single numbers of a wider one */
#define BYTES 32
#else
#define BYTES 16
#endif
#define LANES_float (BYTES / 4)
#define LANES_double (BYTES / 8)
#define JOINED(a, b) a##b
#define OF(name, real) JOINED(name##_, real)
#define LANES OF(LANES, REAL)
#define STRIDE 32 /* the state before every such token is kept where rows fade each by itself */
#define MOST 32   /* tokens of a chunk: the caller says how many it has, 8, 16 or 32 */
#define TILE 4
#define AHEAD 4
#define ALWAYS static inline __attribute__((always_inline))
#define ONCE static __attribute__((noinline)) /* code that is short enough for the cache of instructions */

typedef REAL vec __attribute__((vector_size(BYTES)));
enum { ADDS, ERASES, REMOVES }; /* what a token does with what is there, beside fading */

/* One tensor: the first number of each head, and how far apart its tokens stand; x == NULL: there is none. */
typedef struct {
    REAL *x;
    const int64_t *head;
    int64_t token;
    int64_t shared; /* by several heads: their gradients are added up */
} part;

typedef struct {
    int64_t heads, n, d_k, d;
    int64_t gates, levels, chunk; /* numbers a_t has: 0, 1 or d_k; those of lambda; tokens taken together */
    part q, k, v, b, a, e, r, l, y; /* l: lambda, where the rule has levels */
    REAL *kept; /* the states before every STRIDE-th token or every chunk, or NULL */
    REAL *u;    /* (heads, n, d), where something is erased or removed */
    part dq, dk, dv, db, da, de, dr, dl;
} sequence;

/* Whole vectors, and whole blocks of rows of a product: 4 numbers at least. */
#define WHOLE (LANES < 4 ? 4 : LANES)

ALWAYS int whole(int64_t d) { return (int)((d + WHOLE - 1) / WHOLE * WHOLE / LANES); }

ALWAYS const REAL *at(const part *p, int64_t head, int64_t t) { return p->x + p->head[head] + t * p->token; }

ALWAYS REAL sum(vec x) {
    typedef REAL half __attribute__((vector_size(16)));
    half halves[BYTES / 16];
    memcpy(halves, &x, sizeof x);
    for (int i = 1; i < BYTES / 16; i++) halves[0] += halves[i];
    REAL s = 0;
    for (int l = 0; l < 16 / (int)sizeof(REAL); l++) s += halves[0][l];
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
        REAL *to = s->kept + (h * ((s->n + s->chunk - 1) / s->chunk) + t / s->chunk) * K * D + c;
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
        if (erases == REMOVES) ahead(&s->e, h, t + AHEAD, s->n, d_k), ahead(&s->r, h, t + AHEAD, s->n, d_k);
        if (s->kept && t % (gates < 2 ? s->chunk : STRIDE) == 0) keep(s, h, t, c, width, (REAL *)S, J * LANES, gates);
        const REAL *e = erases == REMOVES ? at(&s->e, h, t) : k, *r = erases == REMOVES ? at(&s->r, h, t) : NULL;
        const int read = erases == REMOVES ? 0 : gates; /* whether what is read has faded */
        vec given[TILE] = {{0}}, w[TILE], u[TILE], sum0[TILE] = {{0}}, sum1[TILE] = {{0}};
        memcpy(given, at(&s->v, h, t) + c, width * sizeof(REAL));
        for (int j = 0; j < J; j++) w[j] = given[j];
        int i = 0;
        if (erases) {
            for (; i + 1 < d_k; i += 2) {
                const REAL e0 = e[i] * gate(a, read, i), e1 = e[i + 1] * gate(a, read, i + 1);
                for (int j = 0; j < J; j++) sum0[j] += e0 * S[i * J + j], sum1[j] += e1 * S[(i + 1) * J + j];
            }
            for (; i < d_k; i++)
                for (int j = 0; j < J; j++) sum0[j] += e[i] * gate(a, read, i) * S[i * J + j];
            for (int j = 0; j < J; j++) given[j] = u[j] = (erases == ERASES ? w[j] : (vec){0}) - (sum0[j] + sum1[j]);
            if (s->u) memcpy(s->u + (h * s->n + t) * s->d + c, given, width * sizeof(REAL));
            for (int j = 0; j < J; j++) sum0[j] = sum1[j] = (vec){0};
            for (int j = 0; erases == ERASES && j < J; j++) w[j] = *at(&s->b, h, t) * u[j];
        }
#define ROW(i, sum)                                                                          \
    for (int j = 0; j < J; j++) {                                                            \
        vec row = (gates ? gate(a, gates, i) * S[(i) * J + j] : S[(i) * J + j]) + k[i] * w[j]; \
        if (erases == REMOVES) row += r[i] * u[j];                                           \
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
        if (s->e.x) call(__VA_ARGS__, REMOVES, 2);   \
        else if (s->b.x) {                           \
            if (!s->a.x) call(__VA_ARGS__, ERASES, 0); \
            else if (s->gates == 1) call(__VA_ARGS__, ERASES, 1); \
            else call(__VA_ARGS__, ERASES, 2);       \
        } else {                                     \
            if (!s->a.x) call(__VA_ARGS__, ADDS, 0); \
            else if (s->gates == 1) call(__VA_ARGS__, ADDS, 1); \
            else call(__VA_ARGS__, ADDS, 2);         \
        }                                            \
    } while (0)

static int tokens_forward(const sequence *s) {
    vec *S = aligned_alloc(BYTES, sizeof(vec) * s->d_k * TILE);
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
    vec *dS, *states, *along, *removed;
    REAL *dw, *du;
} room;

ALWAYS const REAL *kept_u(const sequence *s, int64_t h, int64_t t) { return s->u + (h * s->n + t) * s->d; }

/* What is written under k, but for b. */
ALWAYS const REAL *new(const sequence *s, int64_t h, int64_t t, int erases) {
    return erases == ERASES ? kept_u(s, h, t) : at(&s->v, h, t);
}

/* Once more forward: the states before the tokens of a stretch, from the first of them. */
ALWAYS void again(const sequence *s, int64_t h, int64_t from, int64_t to, room m, int erases) {
    const int64_t d = s->d, size = d * whole(s->d_k);
    for (int64_t t = from; t + 1 < to; t++) {
        const vec *S = m.states + (t - from) * size;
        vec *restrict next = m.states + (t - from + 1) * size;
        const REAL *u = new(s, h, t, erases);
        for (int i = 0; i < whole(s->d_k); i++, S += d, next += d) {
            const vec k = (erases == ERASES ? *at(&s->b, h, t) : 1) * rows(&s->k, h, t, i, s->d_k);
            const vec a = rows(&s->a, h, t, i, s->d_k);
            for (int64_t c = 0; c < d; c++) next[c] = a * S[c] + u[c] * k;
            if (erases != REMOVES) continue;
            const vec r = rows(&s->r, h, t, i, s->d_k);
            const REAL *gone = kept_u(s, h, t);
            for (int64_t c = 0; c < d; c++) next[c] += gone[c] * r;
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

/* The same where something is removed: dr = dS u, du so far. */
ALWAYS void read_removed_back(const sequence *s, int64_t h, int64_t t, int i, vec *restrict dS,
                              const vec *restrict S, vec *restrict along, vec *restrict removed) {
    const int64_t d = s->d;
    const REAL *v = at(&s->v, h, t), *u = kept_u(s, h, t), *dy = at(&s->y, h, t);
    const vec q = rows(&s->q, h, t, i, s->d_k), k = rows(&s->k, h, t, i, s->d_k);
    const vec a = rows(&s->a, h, t, i, s->d_k), r = rows(&s->r, h, t, i, s->d_k);
    vec dk = {0}, dr = {0}, dq = {0};
    REAL of_v = 0, of_u = 0;
    for (int64_t c = 0; c < d; c++) of_v += v[c] * dy[c], of_u += u[c] * dy[c];
    if (!i) memset(along, 0, sizeof(vec) * d), memset(removed, 0, sizeof(vec) * d);
    for (int64_t c = 0; c < d; c++) {
        const vec D = dS[c] + dy[c] * q;
        dk += v[c] * D, dr += u[c] * D, dq += dy[c] * S[c];
        along[c] += k * D, removed[c] += r * D;
        dS[c] = D;
    }
    added(&s->dk, h, t, i, dk, s->d_k);
    added(&s->dr, h, t, i, dr, s->d_k);
    added(&s->dq, h, t, i, a * dq + of_v * k + of_u * r, s->d_k);
}

/* de = -S du, da, and dS as it is before the token. */
ALWAYS void remove_back(const sequence *s, int64_t h, int64_t t, int i, vec *restrict dS, const vec *restrict S,
                        const REAL *restrict du) {
    const vec e = rows(&s->e, h, t, i, s->d_k), a = rows(&s->a, h, t, i, s->d_k);
    vec de = {0}, da = {0};
    for (int64_t c = 0; c < s->d; c++) {
        de -= du[c] * S[c], da += dS[c] * S[c];
        dS[c] = a * dS[c] - du[c] * e;
    }
    added(&s->de, h, t, i, de, s->d_k);
    added(&s->da, h, t, i, da, s->d_k);
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
                if (erases == REMOVES) read_removed_back(s, h, t, i, m.dS + i * d, S + i * d, m.along, m.removed);
                else read_back(s, h, t, i, m.dS + i * d, S + i * d, m.along, erases);
            for (int64_t c = 0; c < d; c++) m.dw[c] = sum(m.along[c]);
            for (int64_t c = 0; erases == REMOVES && c < d; c++) m.du[c] = sum(m.removed[c]);
            for (int i = 0; erases && i < whole(s->d_k); i++)
                if (erases == REMOVES) remove_back(s, h, t, i, m.dS + i * d, S + i * d, m.du);
                else erase_back(s, h, t, i, m.dS + i * d, S + i * d, m.dw);
            const REAL *u = new(s, h, t, erases), b = erases == ERASES ? *at(&s->b, h, t) : 1;
            REAL *dv = (REAL *)at(&s->dv, h, t), db = 0;
            for (int64_t c = 0; c < d; c++) dv[c] += b * m.dw[c], db += m.dw[c] * u[c];
            if (erases == ERASES) *(REAL *)at(&s->db, h, t) += db;
        }
    }
}

static int tokens_back(const sequence *s) {
    const int64_t size = s->d * whole(s->d_k);
    vec *m = aligned_alloc(BYTES, sizeof(vec) * (size * (STRIDE + 1) + 4 * s->d));
    if (!m) return 1;
    vec *along = m + size * (STRIDE + 1);
    REAL *sums = (REAL *)(along + 2 * s->d);
    const room all = {m, m + size, along, along + s->d, sums, sums + s->d};
    for (int64_t h = 0; h < s->heads; h++)
        if (s->e.x) backward_head(s, h, all, REMOVES);
        else if (s->b.x) backward_head(s, h, all, ERASES);
        else backward_head(s, h, all, ADDS);
    free(m);
    return 0;
}

/* ---- Chunks of tokens together, where nothing fades or all rows alike ----

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
    int64_t C, K, D;                  /* tokens of a chunk; d_k and d in whole vectors */
    REAL *qk, *cqk, *kl;              /* q above k; both times c; G_last k */
    REAL *kT, *wT;                    /* K x C, D x C */
    REAL *PL, *XZ;                    /* 2 C x C: P above L, X above Z */
    REAL *G, *below;                  /* C x C; 1 strictly below the diagonal */
    REAL *dS, *ST;                    /* K x D, D x K: S or dS turned */
    REAL *u, *w, *dw;                 /* C x D */
    REAL *dyr, *dqk;                  /* 2 C x D, 2 C x K */
    REAL *N, *dN, *NT, *level, *f;    /* of levels: nodes, their gradients, turned; weights of pairs; fadings */
    REAL a[MOST], b[MOST], c[MOST], dg[MOST];
} desk;

typedef REAL anywhere __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias));

/* The vectors of a product, and how many of them stand side by side: with BLOCK rows half the registers are sums. */
#ifdef __AVX512F__
#define WIDE 64
#define ACROSS 4
#define LARGE 1024 /* numbers of a memory, from which chunks pay forward, too */
#define STAYS(x) __asm__("" : "+v"(x)) /* in a register: gcc would load it for each row */
#else
#define WIDE BYTES
#define ACROSS 2
#define LARGE 2048
#ifdef __SSE2__
#define STAYS(x) __asm__("" : "+x"(x))
#else
#define STAYS(x)
#endif
#endif
typedef REAL wide __attribute__((vector_size(WIDE)));
typedef REAL wide_anywhere __attribute__((vector_size(WIDE), aligned(sizeof(REAL)), may_alias));

ALWAYS vec load(const REAL *x) { return *(const vec *)x; }
ALWAYS void put(REAL *x, vec v) { *(vec *)x = v; }

/* Some rows of a product and some vectors of them, which stay in registers.  Each has a name: compilers would put
   arrays of them into memory. */
#define BY_1(DO, r) DO(r, 0)
#define BY_2(DO, r) BY_1(DO, r) DO(r, 1)
#define BY_3(DO, r) BY_2(DO, r) DO(r, 2)
#define BY_4(DO, r) BY_3(DO, r) DO(r, 3)
#define ROWS_4(BY, DO) BY(DO, 0) BY(DO, 1) BY(DO, 2) BY(DO, 3)
#define ROWS_8(BY, DO) ROWS_4(BY, DO) BY(DO, 4) BY(DO, 5) BY(DO, 6) BY(DO, 7)
#define SUM(r, j) vector s##r##j = {0};
#define BEFORE(r, j) s##r##j = by * *(const somewhere *)(was + r * ldo + j * lanes);
#define TAKEN(r, j) vector b##j = *(const somewhere *)(B + k * ldb + j * lanes); STAYS(b##j);
#define ADDED(r, j) s##r##j += a[r * row] * b##j;
#define BEHIND(r, j) *(somewhere *)(out + r * ldo + j * lanes) = s##r##j;
#define BLOCKS(name, VECTOR, SOMEWHERE, ROWS, BY)                                                              \
    ONCE void name(int64_t from, int64_t to, const REAL *A, int64_t row, int64_t column, const REAL *B,      \
                     int64_t ldb, REAL *out, int64_t ldo, REAL by, const REAL *was) {                          \
        typedef VECTOR vector;                                                                                 \
        typedef SOMEWHERE somewhere;                                                                           \
        const int64_t lanes = sizeof(vector) / sizeof(REAL);                                                   \
        ROWS(BY, SUM)                                                                                          \
        if (!(by < 0)) {                                                                                       \
            ROWS(BY, BEFORE)                                                                                   \
        }                                                                                                      \
        for (int64_t k = from; k < to; k++) {                                                                  \
            const REAL *a = A + k * column;                                                                    \
            BY(TAKEN, )                                                                                        \
            ROWS(BY, ADDED)                                                                                    \
        }                                                                                                      \
        ROWS(BY, BEHIND)                                                                                       \
    }

#if ACROSS == 4
BLOCKS(block_8x2, wide, wide_anywhere, ROWS_8, BY_2)
BLOCKS(block_4x3, wide, wide_anywhere, ROWS_4, BY_3)
BLOCKS(block_4x4, wide, wide_anywhere, ROWS_4, BY_4)
#endif
BLOCKS(block_4x2, wide, wide_anywhere, ROWS_4, BY_2)
BLOCKS(block_8x1, wide, wide_anywhere, ROWS_8, BY_1)
BLOCKS(block_4x1, wide, wide_anywhere, ROWS_4, BY_1)
BLOCKS(narrow_4x1, vec, anywhere, ROWS_4, BY_1)

enum shape { FULL, LOWER, UPPER };
#define NEW (-1) /* gates are not below 0; times 0, what is no number stays none */

/* out = by was + A B, where by is NEW whatever was holds; A_ik stands at i row + k column and is full, lower or upper
   triangular.  Where few vectors stand side by side, more rows are taken: sums must not wait for each other. */
ONCE void product_on(int64_t M, int64_t N, int64_t K, const REAL *A, int64_t row, int64_t column, const REAL *B,
                     int64_t ldb, REAL *out, int64_t ldo, REAL by, const REAL *was, enum shape shape) {
    const int64_t lanes = sizeof(wide) / sizeof(REAL);
    for (int64_t j = 0, next; j < N; j = next) {
        const int64_t left = (N - j) / lanes, across = left < ACROSS ? left : ACROSS;
        next = j + (across ? across * lanes : LANES);
        for (int64_t i = 0, rows; i < M; i += rows) {
            const int tall = across && across < 3 && across < ACROSS && M - i >= 2 * BLOCK;
            rows = tall ? 2 * BLOCK : BLOCK;
            const int64_t from = shape == UPPER ? i : 0, to = shape == LOWER && i + rows < K ? i + rows : K;
#define DONE(block) \
    block(from, to, A + i * row, row, column, B + j, ldb, out + i * ldo + j, ldo, by, was + i * ldo + j)
            switch (across) {
#if ACROSS == 4
            case 4: DONE(block_4x4); break;
            case 3: DONE(block_4x3); break;
            case 2:
                if (tall) DONE(block_8x2);
                else DONE(block_4x2);
                break;
#else
            case 2: DONE(block_4x2); break;
#endif
            case 1:
                if (tall) DONE(block_8x1);
                else DONE(block_4x1);
                break;
            default: DONE(narrow_4x1);
            }
#undef DONE
        }
    }
}

/* The same where it was. */
ALWAYS void product(int64_t M, int64_t N, int64_t K, const REAL *A, int64_t row, int64_t column, const REAL *B,
                    int64_t ldb, REAL *out, int64_t ldo, REAL by, enum shape shape) {
    product_on(M, N, K, A, row, column, B, ldb, out, ldo, by, out, shape);
}

/* Rows l and l + w of a square of which the blocks of size w beside the diagonal change places. */
#define FROM(l, w, second) ((l & w ? LANES : 0) + (l ^ (((l & w) == 0) == second ? w : 0)))
#define PAIR(l, w, z) FROM((l), w, z), FROM((l + 1), w, z)
#define FIRST_2(w, z) PAIR(0, w, z)
#define FIRST_4(w, z) FIRST_2(w, z), PAIR(2, w, z)
#define FIRST_8(w, z) FIRST_4(w, z), PAIR(4, w, z), PAIR(6, w, z)
#if LANES == 8
#define SWAPPED(x, y, w, z) SHUFFLED(x, y, FIRST_8(w, z))
#elif LANES == 4
#define SWAPPED(x, y, w, z) SHUFFLED(x, y, FIRST_4(w, z))
#else
#define SWAPPED(x, y, w, z) SHUFFLED(x, y, FIRST_2(w, z))
#endif
#ifdef __clang__
#define SHUFFLED(x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define PLACE_float int32_t
#define PLACE_double int64_t
typedef OF(PLACE, REAL) places __attribute__((vector_size(BYTES)));
#define SHUFFLED(x, y, ...) __builtin_shuffle(x, y, (places){__VA_ARGS__})
#endif

/* Rows and columns of a square change places, by blocks of half a vector, a quarter, … */
ALWAYS void turned(vec a[LANES]) {
#define SWAP(w)                                                                       \
    for (int l = 0; l < LANES; l++)                                                   \
        if (!(l & w)) {                                                               \
            const vec above = a[l], below = a[l + w];                                 \
            a[l] = SWAPPED(above, below, w, 0), a[l + w] = SWAPPED(above, below, w, 1); \
        }
#if LANES == 8
    SWAP(4)
#endif
#if LANES >= 4
    SWAP(2)
#endif
    SWAP(1)
#undef SWAP
}

ONCE void transposed(const REAL *x, int64_t rows, int64_t columns, REAL *to) {
    for (int64_t j = 0; j < columns; j += LANES)
        for (int64_t i = 0; i < rows; i += LANES) { /* whole lines of the cache are written one after the other */
            vec a[LANES];
            for (int l = 0; l < LANES; l++) a[l] = load(x + (i + l) * columns + j);
            turned(a);
            for (int l = 0; l < LANES; l++) put(to + (j + l) * rows + i, a[l]);
        }
}

/* Tokens t … of a head as rows of `width` numbers; zeros where there are none. */
ALWAYS void copied(int64_t C, const part *p, int64_t h, int64_t t, int64_t tokens, int64_t d, int64_t width, REAL *to) {
    for (int64_t i = 0; i < C; i++, to += width) {
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
ALWAYS void copied_numbers(int64_t C, const part *p, int64_t h, int64_t t, int64_t tokens, REAL none, REAL *to) {
    for (int i = 0; i < C; i++) to[i] = p->x && i < tokens ? *at(p, h, t + i) : none;
}

ALWAYS void numbers_back(const part *p, int64_t h, int64_t t, int64_t tokens, const REAL *from) {
    for (int i = 0; i < tokens; i++) {
        REAL *x = (REAL *)at(p, h, t + i);
        *x = (p->shared ? *x : 0) + from[i];
    }
}

/* to_i = by_i x_i, rows of `width`. */
ALWAYS void scaled(int64_t C, const REAL *x, const REAL *by, int64_t width, REAL *to) {
    for (int i = 0; i < C; i++)
        for (int64_t c = 0; c < width; c += LANES) put(to + i * width + c, by[i] * load(x + i * width + c));
}

ALWAYS REAL inner(const REAL *x, const REAL *y, int64_t width) {
    vec s[4] = {{0}};
    int64_t c = 0;
    for (; c + 4 * LANES <= width; c += 4 * LANES)
        for (int z = 0; z < 4; z++) s[z] += load(x + c + z * LANES) * load(y + c + z * LANES);
    for (; c < width; c += LANES) s[0] += load(x + c) * load(y + c);
    return sum((s[0] + s[1]) + (s[2] + s[3]));
}

/* to_i += <x_i, y_i>, rows of `width`. */
ONCE void inners(int64_t C, const REAL *x, const REAL *y, int64_t width, REAL *to) {
    for (int i = 0; i < C; i += LANES) {
        vec s[LANES] = {{0}}, all = *(const anywhere *)(to + i);
        for (int l = 0; l < LANES; l++)
            for (int64_t c = (i + l) * width; c < (i + l + 1) * width; c += LANES) s[l] += load(x + c) * load(y + c);
        turned(s);
        for (int l = 0; l < LANES; l++) all += s[l];
        *(anywhere *)(to + i) = all;
    }
}

/* Told a chunk ahead. */
ALWAYS void soon(const sequence *s, const part *p, int64_t h, int64_t t, int64_t d) {
    for (int64_t i = t; i < t + s->chunk; i++) ahead(p, h, i, s->n, d);
}

ALWAYS void soon_state(const REAL *S, int64_t size) {
    for (int64_t i = 0; i < size; i += 64 / sizeof(REAL)) __builtin_prefetch(S + i);
}

/* A chunk: its tokens, c and G, P and L. */
ONCE void laid_out(const sequence *s, desk *m, int64_t h, int64_t t, int64_t tokens, int erases, int fades) {
    const int64_t C = m->C, K = m->K, pairs = C * C;
    REAL *k = m->qk + C * K;
    copied(C, &s->q, h, t, tokens, s->d_k, K, m->qk);
    copied(C, &s->k, h, t, tokens, s->d_k, K, k);
    if (erases) copied_numbers(C, &s->b, h, t, tokens, 0, m->b);
    if (fades) {
        copied_numbers(C, &s->a, h, t, tokens, 1, m->a);
        REAL c = 1;
        vec g[MOST / LANES] = {{0}};
        for (int i = 0; i < C; i++) {
            m->c[i] = c *= m->a[i];
            for (int j = 0; j < C / LANES; j++) put(m->G + i * C + j * LANES, g[j] *= m->a[i]);
            m->G[i * C + i] = 1;
            for (int j = 0; j < C / LANES; j++) g[j] = load(m->G + i * C + j * LANES);
        }
        scaled(C, m->qk, m->c, K, m->cqk), scaled(C, k, m->G + pairs - C, K, m->kl);
        if (erases) scaled(C, k, m->c, K, m->cqk + C * K);
    }
    transposed(k, C, K, m->kT);
    product((1 + erases) * C, C, K, m->qk, K, 1, m->kT, C, m->PL, C, NEW, FULL);
    for (int at = 0; at < pairs; at += LANES) {
        const vec G = load(m->G + at);
        put(m->PL + at, G * load(m->PL + at));
        if (erases) put(m->PL + pairs + at, G * load(m->below + at) * load(m->PL + pairs + at));
    }
}

/* dw_i += Σ_j L_ji r_j over j > i, r_i = -b_i dw_i: from the last to the first. */
ONCE void solved_back(const desk *m, REAL *dw, REAL *r) {
    const int64_t C = m->C, D = m->D;
    const REAL *L = m->PL + C * C;
    for (int64_t i = C - BLOCK; i >= 0; i -= BLOCK) {
        const int64_t later = i + BLOCK;
        product(BLOCK, D, C - later, L + later * C + i, 1, C, r + later * D, D, dw + i * D, D, 1, FULL);
        for (int64_t c = 0; c < D; c += LANES) {
            vec done[BLOCK];
#pragma GCC unroll 4
            for (int z = BLOCK - 1; z >= 0; z--) {
                vec now = load(dw + (i + z) * D + c);
#pragma GCC unroll 4
                for (int y = BLOCK - 1; y > z; y--) now += L[(i + y) * C + i + z] * done[y];
                put(dw + (i + z) * D + c, now);
                put(r + (i + z) * D + c, done[z] = -m->b[i + z] * now);
            }
        }
    }
}

/* z_i += Σ_j L_ij w_j over j < i, w_i = -b_i z_i: from the first to the last. */
ONCE void solved(const desk *m, REAL *z, REAL *w) {
    const int64_t C = m->C, D = m->D;
    const REAL *L = m->PL + C * C;
    for (int64_t i = 0; i < C; i += BLOCK) {
        product(BLOCK, D, i, L + i * C, C, 1, w, D, z + i * D, D, 1, FULL);
        for (int64_t c = 0; c < D; c += LANES) {
            vec done[BLOCK];
#pragma GCC unroll 4
            for (int x = 0; x < BLOCK; x++) {
                vec now = load(z + (i + x) * D + c);
#pragma GCC unroll 4
                for (int y = 0; y < x; y++) now += L[(i + x) * C + i + y] * done[y];
                put(z + (i + x) * D + c, now);
                put(w + (i + x) * D + c, done[x] = -m->b[i + x] * now);
            }
        }
    }
}

/* Forward, z = -u. */
ONCE void chunks_forward(const sequence *s, desk *m, int64_t h, int erases, int fades) {
    const int64_t C = m->C, K = m->K, D = m->D, chunks = (s->n + C - 1) / C;
    const int64_t zero = 0;
    const part u = {s->u ? s->u + h * s->n * s->d : NULL, &zero, s->d, 0};
    REAL *S = s->kept ? s->kept + h * chunks * K * D : m->dS, *y = m->dyr, *z = m->dyr + C * D;
    memset(S, 0, sizeof(REAL) * K * D);
    for (int64_t t = 0; t < s->n; t += C) {
        const int64_t tokens = s->n - t < C ? s->n - t : C;
        soon(s, &s->v, h, t, s->d);
        laid_out(s, m, h, t, tokens, erases, fades);
        copied(C, &s->v, h, t, tokens, s->d, D, m->w);
        soon(s, &s->y, h, t, s->d);
        product((1 + erases) * C, D, K, m->cqk, K, 1, S, D, y, D, NEW, FULL);
        soon(s, &s->q, h, t + C, s->d_k), soon(s, &s->k, h, t + C, s->d_k);
        if (erases) {
            for (int64_t c = 0; c < C * D; c += LANES) put(z + c, load(z + c) - load(m->w + c));
            solved(m, z, m->w);
            if (s->u) written_back(&u, 0, t, tokens, s->d, D, -1, z);
        }
        product(C, D, C, m->PL, C, 1, m->w, D, y, D, 1, LOWER);
        written_back(&s->y, h, t, tokens, s->d, D, 1, y);
        if (t + C >= s->n) break;
        REAL *next = s->kept ? S + K * D : S; /* each where it is kept */
        product_on(K, D, C, m->kl, 1, K, m->w, D, next, D, fades ? m->c[C - 1] : 1, S, FULL);
        S = next;
    }
}

/* dg of the pairs of tokens, weight below the diagonal: all s with i >= s > j. */
ALWAYS void faded_between(desk *m, const REAL *weight) {
    const int64_t C = m->C;
    vec since[MOST / LANES] = {{0}}; /* by j: the rows from s on */
    for (int64_t s = C - 1; s >= 0; s--) {
        vec all = {0};
        for (int j = 0; j < C / LANES; j++) {
            since[j] += load(weight + s * C + j * LANES);
            all += since[j] * load(m->below + s * C + j * LANES);
        }
        m->dg[s] += sum(all);
    }
}

/* What was read of the state before the chunk, left to the state behind it, and passed through. */
ALWAYS void faded_around(desk *m, const REAL *since, const REAL *until, REAL through) {
    const int64_t C = m->C;
    REAL later = 0;
    for (int64_t i = C - 1; i >= 0; i--) m->dg[i] += later += since[i];
    for (int i = 0; i < C; i++) m->dg[i] += through, through += until[i];
}

ONCE void chunks_backward(const sequence *s, desk *m, int64_t h, int erases, int fades) {
    const int64_t C = m->C, K = m->K, D = m->D, chunks = (s->n + C - 1) / C, pairs = C * C;
    const int both = 1 + erases;
    const REAL *last = m->G + pairs - C;
    REAL *r = m->dyr + C * D, *dk = m->dqk + C * K;
    memset(m->dS, 0, sizeof(REAL) * K * D);
    for (int64_t t = (chunks - 1) * C; t >= 0; t -= C) {
        const int64_t tokens = s->n - t < C ? s->n - t : C;
        laid_out(s, m, h, t, tokens, erases, fades);
        const REAL *S = s->kept + (h * chunks + t / C) * K * D;
        const int64_t zero = 0;
        const part u = {s->u ? s->u + h * s->n * s->d : NULL, &zero, s->d, 0};
        copied(C, erases ? &u : &s->v, erases ? 0 : h, t, tokens, s->d, D, m->u);
        const REAL *w = erases ? m->w : m->u;
        if (erases) scaled(C, m->u, m->b, D, m->w);
        copied(C, &s->y, h, t, tokens, s->d, D, m->dyr);
        transposed(w, C, D, m->wT);

        REAL since[MOST] = {0}, until[MOST] = {0}, db[MOST] = {0};
        soon(s, &s->dv, h, t, s->d);
        product(C, D, K, m->kl, K, 1, m->dS, D, m->dw, D, NEW, FULL);
        if (fades) inners(C, w, m->dw, D, until);
        soon(s, &s->dq, h, t, s->d_k);
        product(C, D, C, m->PL, 1, C, m->dyr, D, m->dw, D, 1, UPPER);
        if (erases) {
            solved_back(m, m->dw, r);
            inners(C, m->dw, m->u, D, db);
            numbers_back(&s->db, h, t, tokens, db);
        }
        written_back(&s->dv, h, t, tokens, s->d, D, erases ? -1 : 1, erases ? r : m->dw);

        soon(s, &s->dk, h, t, s->d_k);
        product(both * C, C, D, m->dyr, D, 1, m->wT, C, m->XZ, C, NEW, FULL);
        for (int at = 0; at < pairs; at += LANES) {
            const vec G = load(m->G + at), X = load(m->XZ + at), Z = erases ? load(m->XZ + pairs + at) : (vec){0};
            if (fades)
                put(m->PL + at, X * load(m->PL + at) + (erases ? Z * load(m->PL + pairs + at) : (vec){0}));
            put(m->XZ + at, G * X);
            if (erases) put(m->XZ + pairs + at, G * load(m->below + at) * Z);
        }

        transposed(S, K, D, m->ST);
        soon(s, &s->q, h, t - C, s->d_k);
        product(both * C, K, D, m->dyr, D, 1, m->ST, K, m->dqk, K, NEW, FULL);
        for (int half = 0; fades && half < both; half++) {
            REAL *part = m->dqk + half * C * K;
            scaled(C, part, m->c, K, part);
            inners(C, m->qk + half * C * K, part, K, since);
        }
        product(C, K, C, m->XZ, C, 1, m->qk + C * K, K, m->dqk, K, 1, LOWER);
        if (erases) product(C, K, C, m->XZ + pairs, C, 1, m->qk + C * K, K, dk, K, 1, LOWER);
        if (fades) scaled(C, w, last, D, m->dw);
        soon(s, &s->k, h, t - C, s->d_k);
        transposed(m->dS, K, D, m->ST);
        product(C, K, D, fades ? m->dw : w, D, 1, m->ST, K, dk, K, erases ? 1 : NEW, FULL);
        product(C, K, both * C, m->XZ, 1, C, m->qk, K, dk, K, 1, UPPER);
        soon(s, &s->y, h, t - C, s->d);
        if (t) soon_state(S - K * D, K * D);
        soon(s, erases ? &u : &s->v, erases ? 0 : h, t - C, s->d);
        written_back(&s->dq, h, t, tokens, s->d_k, K, 1, m->dqk);
        written_back(&s->dk, h, t, tokens, s->d_k, K, 1, dk);

        if (fades) {
            memset(m->dg, 0, sizeof m->dg);
            faded_between(m, m->PL);
            faded_around(m, since, until, m->c[C - 1] * inner(m->dS, S, K * D));
            numbers_back(&s->da, h, t, tokens, m->dg);
        }
        product(K, D, both * C, m->cqk, 1, K, m->dyr, D, m->dS, D, fades ? m->c[C - 1] : 1, FULL);
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
ALWAYS int bit_length(int64_t x) { return x ? 64 - __builtin_clzll((unsigned long long)x) : 0; }

/* How many nodes there are at most: the bits of the number of chunks. */
ALWAYS int nodes_of(const sequence *s) { return s->levels ? bit_length((s->n + s->chunk - 1) / s->chunk) : 0; }

/* f of each node before each chunk. */
ALWAYS void fadings(const sequence *s, int64_t h, REAL *to, int fades) {
    const int64_t C = s->chunk;
    REAL f[64];
    for (int64_t z = 0; z * C < s->n; z++) {
        REAL all = 1;
        for (int64_t t = z * C; fades && t < s->n && t < (z + 1) * C; t++) all *= *at(&s->a, h, t);
        for (int b = 0; z >> b; b++) to[z * nodes_of(s) + b] = f[b], f[b] *= all;
        f[__builtin_ctzll(~(unsigned long long)z)] = 1;
    }
}

/* The weight of a level for each token of a chunk. */
ALWAYS void weights(const sequence *s, int64_t h, int64_t t, int64_t tokens, int level, REAL *to) {
    for (int i = 0; i < s->chunk; i++) to[i] = i < tokens && level < s->levels ? at(&s->l, h, t + i)[level] : 0;
}

/* P and, at m->level, the weights of its pairs. */
ALWAYS void laid_out_levels(const sequence *s, desk *m, int64_t h, int64_t t, int64_t tokens, int fades) {
    const int64_t C = m->C;
    laid_out(s, m, h, t, tokens, 0, fades);
    for (int i = 0; i < C; i++)
        for (int j = 0; j < C; j++) {
            const int level = bit_length(i ^ j);
            m->level[i * C + j] = i < tokens && level < s->levels ? at(&s->l, h, t + i)[level] : 0;
        }
}

ALWAYS void added_up(REAL *to, REAL by, const REAL *x, int64_t size) {
    for (int64_t c = 0; c < size; c += LANES) put(to + c, load(to + c) + by * load(x + c));
}

ONCE void levels_on(const sequence *s, desk *m, int64_t h, int erases, int fades) {
    (void)erases;
    const int64_t C = m->C, K = m->K, D = m->D, KD = K * D, chunks = (s->n + C - 1) / C;
    const int inside = bit_length(C - 1) + 1; /* levels inside a chunk, a power of two */
    REAL f[64], by[MOST];
    for (int64_t z = 0; z < chunks; z++) {
        const int64_t t = z * C, tokens = s->n - t < C ? s->n - t : C;
        soon(s, &s->y, h, t, s->d), soon(s, &s->l, h, t, s->levels);
        laid_out_levels(s, m, h, t, tokens, fades);
        copied(C, &s->v, h, t, tokens, s->d, D, m->w);
        for (int at = 0; at < C * C; at += LANES) put(m->PL + at, load(m->PL + at) * load(m->level + at));
        product(C, D, C, m->PL, C, 1, m->w, D, m->dw, D, NEW, LOWER);
        soon(s, &s->q, h, t + C, s->d_k), soon(s, &s->k, h, t + C, s->d_k);
        for (int b = 0; z >> b; b++) {
            if (!(z >> b & 1)) continue;
            weights(s, h, t, tokens, inside + b, by);
            for (int i = 0; i < C; i++) by[i] *= f[b];
            scaled(C, m->cqk, by, K, m->dqk);
            product(C, D, K, m->dqk, K, 1, m->N + b * KD, D, m->dw, D, 1, FULL);
        }
        written_back(&s->y, h, t, tokens, s->d, D, 1, m->dw);
        soon(s, &s->v, h, t + C, s->d);
        const REAL all = fades ? m->c[C - 1] : 1;
        const int into = __builtin_ctzll(~(unsigned long long)z); /* the bit of the new node */
        for (int b = 0; z >> b; b++) f[b] *= all;
        product(K, D, C, m->kl, 1, K, m->w, D, m->dS, D, NEW, FULL);
        for (int b = 0; b < into; b++) added_up(m->dS, f[b], m->N + b * KD, KD);
        memcpy(m->N + into * KD, m->dS, sizeof(REAL) * KD), f[into] = 1;
        if (s->kept) memcpy(s->kept + (h * chunks + z) * KD, m->dS, sizeof(REAL) * KD);
    }
}

ONCE void levels_back(const sequence *s, desk *m, int64_t h, int erases, int fades) {
    (void)erases;
    const int64_t C = m->C, K = m->K, D = m->D, KD = K * D, chunks = (s->n + C - 1) / C, pairs = C * C;
    const int inside = bit_length(C - 1) + 1;
    REAL *k = m->qk + C * K, *dk = m->dqk + C * K, *X = m->XZ, df[64] = {0};
    fadings(s, h, m->f, fades);
    memset(m->dN, 0, sizeof(REAL) * nodes_of(s) * KD);
    for (int64_t z = chunks - 1; z >= 0; z--) {
        const int64_t t = z * C, tokens = s->n - t < C ? s->n - t : C;
        const int into = __builtin_ctzll(~(unsigned long long)z);
        const REAL *f = m->f + z * nodes_of(s), *dS = m->dN + into * KD;
        soon(s, &s->dq, h, t, s->d_k), soon(s, &s->dk, h, t, s->d_k), soon(s, &s->dv, h, t, s->d);
        laid_out_levels(s, m, h, t, tokens, fades);
        const REAL all = fades ? m->c[C - 1] : 1, *last = m->G + pairs - C;
        copied(C, &s->v, h, t, tokens, s->d, D, m->w);
        copied(C, &s->y, h, t, tokens, s->d, D, m->dyr);
        transposed(m->w, C, D, m->wT);

        REAL since[MOST] = {0}, until[MOST] = {0}, of_f = 0;
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
        product(C, D, K, m->kl, K, 1, dS, D, m->dw, D, NEW, FULL);
        inners(C, m->w, m->dw, D, until);
        product(C, C, D, m->dyr, D, 1, m->wT, C, X, C, NEW, FULL);
        for (int i = 0; i < tokens; i++)
            for (int j = 0; j <= i; j++) {
                const int level = bit_length(i ^ j);
                ((REAL *)at(&s->dl, h, t + i))[level] += X[i * C + j] * m->PL[i * C + j];
            }
        for (int at = 0; at < pairs; at += LANES) {
            const vec level = load(m->level + at);
            put(m->PL + at, level * load(m->PL + at));
            put(m->XZ + pairs + at, load(X + at) * load(m->PL + at));
            put(X + at, load(m->G + at) * level * load(X + at));
        }
        product(C, D, C, m->PL, 1, C, m->dyr, D, m->dw, D, 1, UPPER);
        written_back(&s->dv, h, t, tokens, s->d, D, 1, m->dw);

        soon(s, &s->q, h, t - C, s->d_k), soon(s, &s->k, h, t - C, s->d_k);
        product(C, K, C, X, C, 1, k, K, m->dqk, K, NEW, LOWER);
        for (int b = 0; z >> b; b++) {
            if (!(z >> b & 1)) continue;
            REAL weight[MOST], read[MOST] = {0};
            weights(s, h, t, tokens, inside + b, weight);
            product(C, K, D, m->dyr, D, 1, m->NT + b * KD, K, dk, K, NEW, FULL);
            inners(C, m->cqk, dk, K, read);
            for (int i = 0; i < tokens && inside + b < s->levels; i++)
                ((REAL *)at(&s->dl, h, t + i))[inside + b] += f[b] * read[i];
            for (int i = 0; i < C; i++) {
                weight[i] *= f[b];
                since[i] += read[i] * weight[i], df[b] += read[i] * weight[i];
                added_up(m->dqk + i * K, weight[i] * (fades ? m->c[i] : 1), dk + i * K, K);
            }
            scaled(C, m->cqk, weight, K, dk);
            product(K, D, C, dk, 1, K, m->dyr, D, m->dN + b * KD, D, 1, FULL);
        }
        written_back(&s->dq, h, t, tokens, s->d_k, K, 1, m->dqk);

        soon(s, &s->v, h, t - C, s->d), soon(s, &s->y, h, t - C, s->d);
        scaled(C, m->w, last, D, m->dw);
        transposed(dS, K, D, m->ST);
        product(C, K, D, m->dw, D, 1, m->ST, K, dk, K, NEW, FULL);
        product(C, K, C, X, 1, C, m->qk, K, dk, K, 1, UPPER);
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
    desk m = {.C = s->chunk, .K = whole(s->d_k) * LANES, .D = whole(s->d) * LANES};
    const int erases = s->b.x != NULL, fades = s->a.x != NULL;
    const int64_t C = m.C, K = C * m.K, D = C * m.D, KD = m.K * m.D, pairs = C * C;
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
    for (int i = 0; i < C; i++)
        for (int j = 0; j < C; j++) m.below[i * C + j] = j < i, m.G[i * C + j] = j <= i;
    if (!fades) m.cqk = m.qk, m.kl = m.qk + K;
    for (int64_t h = 0; h < s->heads; h++) run(s, &m, h, erases, fades);
    free(room);
    return 0;
}

int levels_forward(const sequence *s) { return at_a_desk(s, levels_on); }

int levels_backward(const sequence *s) { return at_a_desk(s, levels_back); }

/* Whether each row fades by itself. */
ALWAYS int by_rows(const sequence *s) { return s->gates > 1 || s->e.x; }

int rule_backward(const sequence *s) { return by_rows(s) ? tokens_back(s) : at_a_desk(s, chunks_backward); }

int rule_forward(const sequence *s) {
    const int large = s->chunk >= 16 && s->d_k * s->d >= LARGE;
    return by_rows(s) || !large ? tokens_forward(s) : at_a_desk(s, chunks_forward);
}

/* What `kept` is rounded up to. */
int vector_bytes(void) { return WHOLE * sizeof(REAL); }

/* The digest of this file and of the flags that it was compiled with. */
const char *made_from(void) { return ORIGIN; }

/* Whether this processor has what the code was compiled for; so it must not need it itself. */
#ifdef __AVX2__
__attribute__((target("no-avx")))
#endif
int runs_here(void) {
#ifdef __AVX512F__
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma");
#elif defined __AVX2__
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return 1;
#endif
}
