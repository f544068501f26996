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
    REAL *kept; /* (heads, ceil(n / STRIDE), columns, d_k in whole vectors), or NULL */
    REAL *u;    /* (heads, n, d), where something is erased */
    part dq, dk, dv, de, da;
} sequence;

ALWAYS int whole(int64_t d) { return (int)((d + LANES - 1) / LANES); }

ALWAYS const REAL *at(const part *p, int64_t head, int64_t t) { return p->x + p->head[head] + t * p->token; }

ALWAYS REAL sum(vec x) {
    REAL s = 0;
    for (int l = 0; l < LANES; l++) s += x[l];
    return s;
}

ALWAYS void added(const part *p, int64_t head, int64_t t, const vec *x, int64_t d) {
    REAL *to = p->x + p->head[head] + t * p->token;
    for (int64_t i = 0; i < d; i++) to[i] += ((const REAL *)x)[i];
}

ALWAYS void fetched(vec *to, const part *p, int64_t head, int64_t t, int64_t d) {
    memcpy(to, at(p, head, t), d * sizeof(REAL));
}

ALWAYS REAL gate(const REAL *a, int gates, int i) { return gates == 0 ? 1 : gates == 1 ? a[0] : a[i]; }

/* S: d_k rows of J vectors. */
ALWAYS void forward_head(const sequence *s, int64_t h, vec *S, int d_k, int J, int erases, int gates) {
    const int64_t d = s->d;
    const int I = whole(d_k);
    vec u[J], y[J];
    memset(S, 0, sizeof(vec) * d_k * J);
    memset(u, 0, sizeof u);
    for (int64_t t = 0; t < s->n; t++) {
        const REAL *q = at(&s->q, h, t), *k = at(&s->k, h, t), *a = gates ? at(&s->a, h, t) : NULL;
        if (s->kept && t % STRIDE == 0) {
            REAL *to = s->kept + (h * ((s->n + STRIDE - 1) / STRIDE) + t / STRIDE) * d * I * LANES;
            for (int64_t c = 0; c < d; c++)
                for (int i = 0; i < d_k; i++) to[c * I * LANES + i] = ((REAL *)(S + i * J))[c];
        }
        fetched(u, &s->v, h, t, d);
        if (erases) {
            const REAL *e = at(&s->e, h, t);
            vec even[J], odd[J];
            memset(even, 0, sizeof even);
            memset(odd, 0, sizeof odd);
            int i = 0;
            for (; i + 1 < d_k; i += 2) {
                const REAL e0 = e[i] * gate(a, gates, i), e1 = e[i + 1] * gate(a, gates, i + 1);
                for (int j = 0; j < J; j++) even[j] += e0 * S[i * J + j], odd[j] += e1 * S[(i + 1) * J + j];
            }
            for (; i < d_k; i++)
                for (int j = 0; j < J; j++) even[j] += e[i] * gate(a, gates, i) * S[i * J + j];
            for (int j = 0; j < J; j++) u[j] -= even[j] + odd[j];
            if (s->u) memcpy(s->u + (h * s->n + t) * d, u, d * sizeof(REAL));
        }
        memset(y, 0, sizeof y);
        for (int i = 0; i < d_k; i++) {
            const REAL q_i = q[i], k_i = k[i], a_i = gate(a, gates, i);
            for (int j = 0; j < J; j++) {
                const vec row = (gates ? a_i * S[i * J + j] : S[i * J + j]) + k_i * u[j];
                S[i * J + j] = row;
                y[j] += q_i * row;
            }
        }
        memcpy((REAL *)at(&s->y, h, t), y, d * sizeof(REAL));
    }
}

/* dS: d columns of I vectors; states: the columns before each token of a stretch. */
ALWAYS void backward_head(const sequence *s, int64_t h, vec *dS, vec *states, int I, int erases, int gates) {
    const int64_t d_k = s->d_k, d = s->d, stretches = (s->n + STRIDE - 1) / STRIDE, size = d * I;
    vec q[I], k[I], e[I], a[I], dq[I], dk[I], de[I], da[I];
    REAL du[d];
    memset(dS, 0, sizeof(vec) * size);
    memset(q, 0, sizeof q), memset(k, 0, sizeof k), memset(e, 0, sizeof e), memset(a, 0, sizeof a);
    for (int64_t from = (stretches - 1) * STRIDE; from >= 0; from -= STRIDE) {
        const int64_t to = from + STRIDE < s->n ? from + STRIDE : s->n;
        memcpy(states, s->kept + (h * stretches + from / STRIDE) * size * LANES, sizeof(vec) * size);
        for (int64_t t = from; t + 1 < to; t++) { /* once more forward */
            const vec *S = states + (t - from) * size;
            vec *next = states + (t - from + 1) * size;
            const REAL *u = erases ? s->u + (h * s->n + t) * d : at(&s->v, h, t);
            fetched(k, &s->k, h, t, d_k);
            if (gates > 1) fetched(a, &s->a, h, t, d_k);
            const REAL one = gates == 1 ? *at(&s->a, h, t) : 1;
            for (int64_t c = 0; c < d; c++)
                for (int i = 0; i < I; i++)
                    next[c * I + i] = (gates > 1 ? a[i] * S[c * I + i] : one * S[c * I + i]) + u[c] * k[i];
        }
        for (int64_t t = to - 1; t >= from; t--) {
            const vec *S = states + (t - from) * size;
            const REAL *u = erases ? s->u + (h * s->n + t) * d : at(&s->v, h, t), *dy = at(&s->y, h, t);
            const REAL one = gates == 1 ? *at(&s->a, h, t) : 1;
            fetched(q, &s->q, h, t, d_k), fetched(k, &s->k, h, t, d_k);
            if (erases) fetched(e, &s->e, h, t, d_k);
            if (gates > 1) fetched(a, &s->a, h, t, d_k);
            memset(dq, 0, sizeof dq), memset(dk, 0, sizeof dk);
            memset(de, 0, sizeof de), memset(da, 0, sizeof da);
            REAL read = 0; /* <u, dy>: the token reads what it writes */
            for (int64_t c = 0; c < d; c++) {
                vec along = {0};
                read += u[c] * dy[c];
                for (int i = 0; i < I; i++) {
                    const vec D = dS[c * I + i] + dy[c] * q[i], before = S[c * I + i];
                    dk[i] += u[c] * D;
                    dq[i] += dy[c] * before;
                    along += k[i] * D;
                    if (!erases && gates) da[i] += D * before;
                    dS[c * I + i] = erases || !gates ? D : gates > 1 ? a[i] * D : one * D;
                }
                du[c] = sum(along);
            }
            if (erases)
                for (int64_t c = 0; c < d; c++)
                    for (int i = 0; i < I; i++) {
                        const vec before = S[c * I + i], D = dS[c * I + i] - du[c] * e[i];
                        de[i] -= du[c] * before;
                        if (gates) da[i] += D * before;
                        dS[c * I + i] = !gates ? D : gates > 1 ? a[i] * D : one * D;
                    }
            for (int i = 0; i < I; i++) {
                const vec left = gates > 1 ? a[i] : one - (vec){0};
                dq[i] = left * dq[i] + read * k[i];
                de[i] = left * de[i];
            }
            added(&s->dq, h, t, dq, d_k), added(&s->dk, h, t, dk, d_k), added(&s->dv, h, t, (vec *)du, d);
            if (erases) added(&s->de, h, t, de, d_k);
            if (gates > 1) added(&s->da, h, t, da, d_k);
            if (gates == 1) {
                REAL all = 0;
                for (int i = 0; i < I; i++) all += sum(da[i]);
                s->da.x[s->da.head[h] + t * s->da.token] += all;
            }
        }
    }
}

/* The kinds of rules and some sizes are constants of their own copies of the loops. */
#define KINDS(call, ...)                                                                      \
    do {                                                                                      \
        const int g = s->gates > 1 ? 2 : (int)s->gates;                                       \
        if (s->e.x) {                                                                         \
            if (g == 0) call(__VA_ARGS__, 1, 0);                                              \
            else if (g == 1) call(__VA_ARGS__, 1, 1);                                         \
            else call(__VA_ARGS__, 1, 2);                                                     \
        } else {                                                                              \
            if (g == 0) call(__VA_ARGS__, 0, 0);                                              \
            else if (g == 1) call(__VA_ARGS__, 0, 1);                                         \
            else call(__VA_ARGS__, 0, 2);                                                     \
        }                                                                                     \
    } while (0)

static int forward_all(const sequence *s) {
    const int d_k = (int)s->d_k, J = whole(s->d);
    vec *S = aligned_alloc(32, sizeof(vec) * d_k * J);
    if (!S) return 1;
    for (int64_t h = 0; h < s->heads; h++) {
        if (J * LANES == 32) KINDS(forward_head, s, h, S, d_k, 32 / LANES);
        else if (J * LANES == 16) KINDS(forward_head, s, h, S, d_k, 16 / LANES);
        else KINDS(forward_head, s, h, S, d_k, J);
    }
    free(S);
    return 0;
}

static int backward_all(const sequence *s) {
    const int I = whole(s->d_k);
    const int64_t size = s->d * I;
    vec *dS = aligned_alloc(32, sizeof(vec) * size * (STRIDE + 1));
    if (!dS) return 1;
    for (int64_t h = 0; h < s->heads; h++) {
        if (I * LANES == 32) KINDS(backward_head, s, h, dS, dS + size, 32 / LANES);
        else if (I * LANES == 16) KINDS(backward_head, s, h, dS, dS + size, 16 / LANES);
        else KINDS(backward_head, s, h, dS, dS + size, I);
    }
    free(dS);
    return 0;
}

int rule_forward(const sequence *s) { return forward_all(s); }
int rule_backward(const sequence *s) { return backward_all(s); }
