/* The rule of a matrix memory, token by token, and its derivative; REAL is float or double.

       S_t = (I - k_t e_t^T) diag(a_t) S_{t-1} + k_t v_t^T        y_t = q_t^T S_t

   A token writes u_t = v_t - (diag(a_t) S_{t-1})^T e_t under k_t.  Without e nothing is erased, without a
   nothing fades; a token has one a, or one a row.  All heads of all texts, one after the other: a memory
   stays in the first cache.

   Forward, a row of the memory is a vector (over d): e^T S and q^T S are sums of vectors.  For the way back
   the state before every STRIDE-th token is kept, and u.  Backward, a column is a vector (over d_k): the
   gradients of q, k, e and a are sums of vectors, and only that of v needs sums within one.

       dS += q dy^T    du = dS^T k    dk = dS u    dq = S_t dy    dv = du
       de = -diag(a) S du    dS' = dS - e du^T    da = rows of <dS', S>    dS <- diag(a) dS'
*/
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LANES (32 / (int)sizeof(REAL))
#define STRIDE 32
#define TILE 4
#define AHEAD 4
#define ALWAYS static inline __attribute__((always_inline))

typedef REAL vec __attribute__((vector_size(32)));

/* One tensor: the first number of each head, and how far apart its tokens stand; x == NULL: there is none. */
typedef struct {
    REAL *x;
    const int64_t *head;
    int64_t token;
} part;

typedef struct {
    int64_t heads, n, d_k, d, gates; /* gates: numbers a_t has, 0, 1 or d_k */
    part q, k, v, e, a, y;
    REAL *kept; /* (heads, ceil(n / STRIDE), d_k in whole vectors, d, LANES), or NULL */
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

/* Some columns of the state before token t, rows in groups of LANES, as the way back wants them. */
ALWAYS void keep(const sequence *s, int64_t h, int64_t t, int64_t c, int64_t width, const REAL *S, int row) {
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
        if (s->kept && t % STRIDE == 0) keep(s, h, t, c, width, (REAL *)S, J * LANES);
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

int rule_backward(const sequence *s) {
    const int64_t size = s->d * whole(s->d_k);
    vec *m = aligned_alloc(32, sizeof(vec) * (size * (STRIDE + 1) + 2 * s->d));
    if (!m) return 1;
    const room all = {m, m + size, m + size * (STRIDE + 1), (REAL *)(m + size * (STRIDE + 1) + s->d)};
    for (int64_t h = 0; h < s->heads; h++) KINDS(backward_head, s, h, all);
    free(m);
    return 0;
}
