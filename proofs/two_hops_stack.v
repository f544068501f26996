(** Token by token: linear layers, ONE full layer, linear layers, on composition of two
    hops.  The network IS a conversation of two_hops.v, hence the bound in bits. *)
From Coq Require Import List Arith Lia Bool PeanoNat.
Import ListNotations.
From Limen Require Import counting streaming_state two_hops.

(** A recurrent stack: (state, token) -> (state, output token). *)
Fixpoint mealy {S X Y} (f : S -> X -> S * Y) (s : S) (xs : list X) : S * list Y :=
  match xs with
  | [] => (s, [])
  | x :: xs => let (s', y) := f s x in let (s'', ys) := mealy f s' xs in (s'', y :: ys)
  end.
Lemma mealy_app {S X Y} (f : S -> X -> S * Y) xs xs' : forall s,
  mealy f s (xs ++ xs') =
    (fst (mealy f (fst (mealy f s xs)) xs'),
     snd (mealy f s xs) ++ snd (mealy f (fst (mealy f s xs)) xs')).
Proof.
  induction xs as [|x xs IH]; intros s; simpl; [destruct (mealy f s xs'); reflexivity|].
  destruct (f s x) as [s' y]. rewrite IH. destruct (mealy f s' xs) as [s'' ys]. reflexivity.
Qed.
Lemma mealy_app_snd {S X Y} (f : S -> X -> S * Y) xs xs' s :
  snd (mealy f s (xs ++ xs')) = snd (mealy f s xs) ++ snd (mealy f (fst (mealy f s xs)) xs').
Proof. rewrite mealy_app. reflexivity. Qed.
Lemma mealy_len {S X Y} (f : S -> X -> S * Y) xs : forall s, length (snd (mealy f s xs)) = length xs.
Proof.
  induction xs as [|x xs IH]; intros s; simpl; auto. destruct (f s x) as [s' y].
  specialize (IH s'). destruct (mealy f s' xs); simpl in *; auto.
Qed.
Lemma mealy_inv {S X Y} (f : S -> X -> S * Y) (P : S -> Prop) xs :
  (forall s x, P s -> P (fst (f s x))) -> forall s, P s -> P (fst (mealy f s xs)).
Proof.
  intros H. induction xs as [|x xs IH]; intros s Hs; simpl; auto.
  specialize (H s x Hs). destruct (f s x) as [s' y]. specialize (IH s' H).
  destruct (mealy f s' xs); assumption.
Qed.

Lemma mealy_app_fst {S X Y} (f : S -> X -> S * Y) xs xs' s :
  fst (mealy f s (xs ++ xs')) = fst (mealy f (fst (mealy f s xs)) xs').
Proof. rewrite mealy_app. reflexivity. Qed.

(** A recurrence has s bits if after t tokens, for each t up to n, it has at most 2^s states;
    they may be others at other times, as those of a window that fills. *)
Definition has_bits {S X Y} (f : S -> X -> S * Y) (q0 : S) (n s : nat) : Prop :=
  forall t, t <= n -> exists L : list S, length L <= 2 ^ s /\
    forall xs, length xs = t -> In (fst (mealy f q0 xs)) L.
Lemma has_bits_always {S X Y} (f : S -> X -> S * Y) q0 n s L : length L <= 2 ^ s ->
  In q0 L -> (forall q x, In q L -> In (fst (f q x)) L) -> has_bits f q0 n s.
Proof.
  intros H H0 Hf t _. exists L. split; [exact H|]. intros xs _.
  apply (mealy_inv f (fun q => In q L)); assumption.
Qed.

Section Net.
Variables m n1 : nat.
Let N := n1 * m.
(** Types: input tokens X, residual Y, queries Q, accumulators C, residual W. *)
Variables X Y Q C W Sp Sq : Type.
Variable Sp_dec : forall a b : Sp, {a = b} + {a <> b}.
Variables (pre : Sp -> X -> Sp * Y) (sp0 : Sp).       (* all linear layers before F *)
Variables (post : Sq -> W -> Sq * nat) (sq0 : Sq).    (* all linear layers after F *)
(** Full causal layer: accumulators in a monoid (vectors of weights and weighted values). *)
Variables (cadd : C -> C -> C) (c0 : C).
Hypothesis cadd_assoc : forall a b c, cadd a (cadd b c) = cadd (cadd a b) c.
Hypothesis cadd_0 : forall a, cadd c0 a = a.
Variables (query : Y -> Q) (contrib : Q -> Y -> C) (g : Y -> C -> W).
Definition csum (q : Q) (ys : list Y) : C := fold_right (fun y c => cadd (contrib q y) c) c0 ys.
Fixpoint full (past ys : list Y) : list W :=
  match ys with
  | [] => []
  | y :: ys => g y (csum (query y) (past ++ [y])) :: full (past ++ [y]) ys
  end.
Definition net (xs : list X) : nat :=
  last (snd (mealy post sq0 (full [] (snd (mealy pre sp0 xs))))) 0.

(** Token order z_2, z_1, z_0, w; embeddings are arbitrary and carry positions. *)
Variables (e2 e1 : nat -> nat -> X) (e0 ew : nat -> X).
Definition input (w z0 : nat) (z1 z2 : list nat) : list X :=
  wrv e2 0 z2 ++ (wrv e1 0 z1 ++ [e0 z0; ew w]).

Lemma csum_app q l l' : csum q (l ++ l') = cadd (csum q l) (csum q l').
Proof. induction l as [|y l IH]; simpl; [symmetry; apply cadd_0|]. rewrite IH. apply cadd_assoc. Qed.
Lemma full_app l l' : forall past, full past (l ++ l') = full past l ++ full (past ++ l) l'.
Proof.
  induction l as [|y l IH]; intros past; simpl; [rewrite app_nil_r; reflexivity|].
  rewrite IH, <- app_assoc. reflexivity.
Qed.
(** The same layer when the sums over an earlier block are given as replies. *)
Fixpoint fullr (reps : list C) (past ys : list Y) : list W :=
  match ys, reps with
  | y :: ys, r :: reps => g y (cadd r (csum (query y) (past ++ [y]))) :: fullr reps (past ++ [y]) ys
  | _, _ => []
  end.
Lemma full_fullr P ys : forall past,
  full (P ++ past) ys = fullr (map (fun y => csum (query y) P) ys) past ys.
Proof.
  induction ys as [|y ys IH]; intros past; simpl; [reflexivity|].
  rewrite <- !app_assoc, csum_app, IH. reflexivity.
Qed.

Variables (Lp Ls : list Sp) (Lt : list Sq) (Lb : list C).
Hypothesis Hp : forall xs, length xs = N -> In (fst (mealy pre sp0 xs)) Lp.
Hypothesis Hs : forall xs, length xs = N + m -> In (fst (mealy pre sp0 xs)) Ls.
Hypothesis Ht : forall ws, length ws = N + m -> In (fst (mealy post sq0 ws)) Lt.

Definition Y2 z2 := snd (mealy pre sp0 (wrv e2 0 z2)).
Definition p_sig2 z2 := fst (mealy pre sp0 (wrv e2 0 z2)).
Definition p_reply z2 q := csum q (Y2 z2).
Hypothesis Hreply : forall z2 q, In z2 (nwords N N) -> In (p_reply z2 q) Lb.   (* accumulators fit *)
Definition y1s z1 s := snd (mealy pre s (wrv e1 0 z1)).
Definition p_tau1 z1 z2 := fst (mealy post sq0 (full [] (Y2 z2 ++ y1s z1 (p_sig2 z2)))).
Definition p_lin1 z1 s := code Sp_dec Ls (fst (mealy pre s (wrv e1 0 z1))).
Definition dec_st c := nth c Ls sp0.
Definition y0 z0 c := snd (pre (dec_st c) (e0 z0)).
Definition ym w z0 c := snd (pre (fst (pre (dec_st c) (e0 z0))) (ew w)).
Definition p_q0 z0 c := query (y0 z0 c).
Definition p_qm w z0 c := query (ym w z0 c).
Definition p_out (w z0 : nat) (z1 : list nat) (s : Sp) (t : Sq) (r0 rm : C) : nat :=
  let c := p_lin1 z1 s in
  last (snd (mealy post t (fullr [r0; rm] (y1s z1 s) [y0 z0 c; ym w z0 c]))) 0.

Lemma wrv_length {T} (e : nat -> nat -> T) f : forall i, length (wrv e i f) = length f.
Proof. induction f; intros; simpl; auto. Qed.
Lemma full_length ys : forall past, length (full past ys) = length ys.
Proof. induction ys as [|y ys IH]; intros past; simpl; auto. Qed.
Lemma sig2_in z2 : In z2 (nwords N N) -> In (p_sig2 z2) Lp.
Proof. intros H. apply Hp. rewrite wrv_length. apply in_nwords in H. tauto. Qed.
Lemma tau1_in z1 z2 : In z1 (nwords m m) -> In z2 (nwords N N) -> In (p_tau1 z1 z2) Lt.
Proof.
  intros H1 H2. apply in_nwords in H1, H2. apply Ht.
  rewrite full_length, app_length. unfold Y2, y1s. rewrite !mealy_len, !wrv_length. lia.
Qed.
Lemma state1_in z1 z2 : In z1 (nwords m m) -> In z2 (nwords N N) ->
  In (fst (mealy pre (p_sig2 z2) (wrv e1 0 z1))) Ls.
Proof.
  intros H1 H2. apply in_nwords in H1, H2. unfold p_sig2. rewrite <- mealy_app_fst. apply Hs.
  rewrite app_length, !wrv_length. lia.
Qed.
Lemma lin1_lt z1 s : p_lin1 z1 s < length Ls.
Proof.
  apply code_lt. pose proof (Hs (repeat (e0 0) (N + m)) (repeat_length _ _)) as I.
  destruct Ls; [destruct I|simpl; lia].
Qed.

Lemma last_app {T} (l l' : list T) d : l' <> [] -> last (l ++ l') d = last l' d.
Proof.
  intros H. induction l as [|x l IH]; simpl; auto.
  destruct (l ++ l') eqn:E; [|assumption]. apply app_eq_nil in E. tauto.
Qed.

(** The decomposition theorem. *)
Theorem net_is_protocol w z0 z1 z2 : In z1 (nwords m m) -> In z2 (nwords N N) ->
  net (input w z0 z1 z2) = ans Q Sp Sq C p_sig2 p_tau1 p_lin1 p_reply p_q0 p_qm p_out w z0 z1 z2.
Proof.
  intros H1 H2. unfold net, input, ans, p_out.
  rewrite mealy_app_snd. fold (Y2 z2) (p_sig2 z2).
  rewrite mealy_app_snd. fold (y1s z1 (p_sig2 z2)).
  assert (E : snd (mealy pre (fst (mealy pre (p_sig2 z2) (wrv e1 0 z1))) [e0 z0; ew w])
            = [y0 z0 (p_lin1 z1 (p_sig2 z2)); ym w z0 (p_lin1 z1 (p_sig2 z2))]).
  { assert (D : dec_st (p_lin1 z1 (p_sig2 z2)) = fst (mealy pre (p_sig2 z2) (wrv e1 0 z1))).
    { apply code_nth, state1_in; assumption. }
    unfold y0, ym. rewrite D. simpl.
    destruct (pre (fst (mealy pre (p_sig2 z2) (wrv e1 0 z1))) (e0 z0)) as [s' a]. simpl.
    destruct (pre s' (ew w)) as [s'' b]. reflexivity. }
  rewrite E. clear E. set (c := p_lin1 z1 (p_sig2 z2)).
  rewrite app_assoc, full_app. change ([] ++ (Y2 z2 ++ y1s z1 (p_sig2 z2))) with (Y2 z2 ++ y1s z1 (p_sig2 z2)).
  rewrite mealy_app_snd. fold (p_tau1 z1 z2).
  rewrite last_app by (intros H; apply (f_equal (@length _)) in H; rewrite mealy_len in H; discriminate).
  rewrite full_fullr. reflexivity.
Qed.

Definition net_correct : Prop :=
  forall w z0 z1 z2, w < n1 -> z0 < m -> In z1 (nwords m m) -> In z2 (nwords N N) ->
    net (input w z0 z1 z2) = nth (w * m + nth z0 z1 0) z2 0.

Theorem hybrid_2 x0 x1 k :
  0 < k -> 0 < m -> 0 < n1 -> x0 <= m ->
  2 * length Ls * (m ^ (k - 1) * (k * x1) ^ x0) <= m ^ x0 ->
  net_correct ->
  N ^ (n1 * (k * x1)) <= length Ls * (2 * length Ls) ^ x1 *
     (length Lp * length Lt ^ x1 * length Lb ^ (n1 * x0 + x0)).
Proof.
  intros Hk Hm Hn Hx Hc HC.
  apply (composition_hybrid_2 m n1 Q Sp Sq C p_sig2 p_tau1 p_lin1 p_reply p_q0 p_qm p_out
           (length Ls) Lp Lt Lb lin1_lt sig2_in tau1_in Hreply
           x0 x1 k Hk Hm Hn Hx Hc).
  intros w z0 z1 z2 H1 H2 H3 H4. rewrite <- net_is_protocol by assumption. apply HC; assumption.
Qed.

(** In bits: s = state bits before F, s' = after F, beta = accumulator bits;
    x1 functions z_1 bringing k new points each, together at most m/2, m <= 2^lm. *)
Corollary hybrid_2_bits s s' beta k x1 lm x0 :
  0 < m -> 0 < n1 -> 0 < k -> 2 * (k * x1) <= m -> m <= 2 ^ lm ->
  x0 = s + 1 + lm * (k - 1) -> x0 <= m ->
  length Lp <= 2 ^ s -> length Ls <= 2 ^ s -> length Lt <= 2 ^ s' -> length Lb <= 2 ^ beta ->
  net_correct ->
  n1 * (k * x1) * Nat.log2 (n1 * m)
    <= s + x1 * (s + 1) + s + x1 * s' + beta * ((n1 + 1) * x0).
Proof.
  intros Hm Hn Hk Hkx Hlm Ex Hx E0 E1 E2 E3 HC.
  pose proof (hybrid_2 x0 x1 k Hk Hm Hn Hx) as H.
  apply bits_of_pow. fold N. etransitivity; [apply H; [|assumption]|].
  - transitivity (2 * 2 ^ s * ((2 ^ lm) ^ (k - 1) * (k * x1) ^ x0)).
    + repeat apply Nat.mul_le_mono; auto. apply Nat.pow_le_mono_l; assumption.
    + transitivity ((2 * (k * x1)) ^ x0); [|apply Nat.pow_le_mono_l, Hkx].
      rewrite (Nat.pow_mul_l 2 (k * x1)), Nat.mul_assoc. apply Nat.mul_le_mono_r.
      rewrite <- Nat.pow_mul_r, <- Nat.pow_succ_r', <- Nat.pow_add_r.
      apply Nat.pow_le_mono_r; lia.
  - transitivity (2 ^ s * (2 * 2 ^ s) ^ x1 *
      (2 ^ s * (2 ^ s') ^ x1 * (2 ^ beta) ^ (n1 * x0 + x0))).
    + repeat apply Nat.mul_le_mono; try assumption; apply Nat.pow_le_mono_l; lia.
    + rewrite <- (Nat.pow_succ_r' 2 s).
      rewrite <- !Nat.pow_mul_r, <- !Nat.pow_add_r. apply Nat.pow_le_mono_r; [lia|]. nia.
Qed.

Lemma net_errs : ~ net_correct ->
  exists w z0 z1 z2, w < n1 /\ z0 < m /\ In z1 (nwords m m) /\ In z2 (nwords N N) /\
    net (input w z0 z1 z2) <> nth (w * m + nth z0 z1 0) z2 0.
Proof.
  intros HC.
  set (dom := list_prod (list_prod (seq 0 n1) (seq 0 m)) (list_prod (nwords m m) (nwords N N))).
  destruct (forallb (fun x => net (input (fst (fst x)) (snd (fst x)) (fst (snd x)) (snd (snd x)))
      =? nth (fst (fst x) * m + nth (snd (fst x)) (fst (snd x)) 0) (snd (snd x)) 0) dom) eqn:E.
  - exfalso. apply HC. rewrite forallb_forall in E. intros w z0 z1 z2 H1 H2 H3 H4.
    apply Nat.eqb_eq. apply (E ((w, z0), (z1, z2))). unfold dom.
    repeat apply in_prod; auto; apply in_seq; lia.
  - apply forallb_false in E. destruct E as [[[w z0] [z1 z2]] [Hd E]]. simpl in E.
    unfold dom in Hd. rewrite !in_prod_iff, !in_seq in Hd.
    exists w, z0, z1, z2. apply Nat.eqb_neq in E. repeat split; auto; try tauto; lia.
Qed.
End Net.
