(** Log-linear attention keeps one matrix a level, merged like the carries of a binary
    counter.  After 2^r tokens exactly ONE level is occupied, so one matrix a head must
    tell V^(2^r) prefixes apart: in the worst case there is no saving by the levels.

    All heads and layers count the same tokens, so their levels are occupied alike: a
    "matrix" below is what all of them hold at one level together.  What a token adds
    ([leaf]) and how it acts on the older matrices ([gate]) may depend on everything the
    stack holds, for a token of a higher layer is computed from the lower ones. *)
From Coq Require Import List Arith Lia Bool PeanoNat NArith.
Import ListNotations.
From Limen Require Import counting powers streaming_state.

(** ** The levels: a binary counter *)
Fixpoint carry_levels (l : nat) (ls : list nat) : list nat :=
  match ls with
  | l' :: ls' => if l =? l' then carry_levels (S l) ls' else l :: ls
  | [] => [l]
  end.

Lemma iter_add {A} (f : A -> A) k k' a : Nat.iter (k + k') f a = Nat.iter k f (Nat.iter k' f a).
Proof. induction k as [|k IH]; simpl; [|rewrite IH]; reflexivity. Qed.
Lemma iter_shift {A} (f : A -> A) k a : Nat.iter k f (f a) = f (Nat.iter k f a).
Proof. induction k as [|k IH]; simpl; [|rewrite IH]; reflexivity. Qed.

(** 2^r tokens on top of levels that are all at least r act as one carry at level r. *)
Lemma carried r : forall ls, Forall (fun l => r <= l) ls ->
  Nat.iter (2 ^ r) (carry_levels 0) ls = carry_levels r ls.
Proof.
  induction r as [|r IH]; intros ls H; [reflexivity|].
  replace (2 ^ S r) with (2 ^ r + 2 ^ r) by (simpl; lia).
  rewrite iter_add, (IH ls) by (eapply Forall_impl; [|exact H]; simpl; intros; lia).
  assert (E : carry_levels r ls = r :: ls).
  { destruct H as [|l ls Hl _]; simpl; [reflexivity|].
    replace (r =? l) with false by (symmetry; apply Nat.eqb_neq; lia). reflexivity. }
  rewrite E, IH; simpl; [rewrite Nat.eqb_refl; reflexivity|].
  constructor; [lia|]. eapply Forall_impl; [|exact H]. simpl; intros; lia.
Qed.

(** ** The stack: levels with matrices, newest first, and the states of all other layers *)
Record log_linear (Ans : Type) := {
  ll_token : Type; ll_matrix : Type; ll_rest : Type; ll_output : Type;
  ll_rest0 : ll_rest; ll_output0 : ll_output;
  ll_leaf : list (nat * ll_matrix) * ll_rest -> ll_token -> ll_matrix;
  ll_gate : list (nat * ll_matrix) * ll_rest -> ll_token -> ll_matrix -> ll_matrix;
  ll_merge : ll_matrix -> ll_matrix -> ll_matrix;                 (* older, newer: arbitrary *)
  ll_next : list (nat * ll_matrix) * ll_rest -> ll_token -> ll_rest;
  ll_read : list (nat * ll_matrix) * ll_rest -> ll_token -> ll_output;
  ll_writes : nat -> (list (nat * ll_matrix) * ll_rest) * ll_output -> ll_token;
  ll_stops : nat -> (list (nat * ll_matrix) * ll_rest) * ll_output -> option Ans }.
Arguments ll_token {Ans}. Arguments ll_matrix {Ans}. Arguments ll_rest {Ans}. Arguments ll_output {Ans}.
Arguments ll_rest0 {Ans}. Arguments ll_output0 {Ans}. Arguments ll_leaf {Ans}. Arguments ll_gate {Ans}.
Arguments ll_merge {Ans}. Arguments ll_next {Ans}. Arguments ll_read {Ans}. Arguments ll_writes {Ans}.
Arguments ll_stops {Ans}.

Section Stack.
Context {Ans : Type} (M : log_linear Ans).
Let memory := (list (nat * ll_matrix M) * ll_rest M)%type.

Fixpoint carry (l : nat) (x : ll_matrix M) (bs : list (nat * ll_matrix M)) : list (nat * ll_matrix M) :=
  match bs with
  | (l', x') :: bs' => if l =? l' then carry (S l) (ll_merge M x' x) bs' else (l, x) :: bs
  | [] => [(l, x)]
  end.
Definition gated (q : memory) (t : ll_token M) : list (nat * ll_matrix M) :=
  map (fun b => (fst b, ll_gate M q t (snd b))) (fst q).
Definition push (q : memory) (t : ll_token M) : memory :=
  (carry 0 (ll_leaf M q t) (gated q t), ll_next M q t).
Definition machine_of : machine Ans := {|
  Token := ll_token M; Memory := memory; Output := ll_output M;
  start := (([], ll_rest0 M), ll_output0 M);
  next := fun q t => (push q t, ll_read M q t);
  writes := ll_writes M; stops := ll_stops M |}.

Lemma carry_fst bs : forall l x, map fst (carry l x bs) = carry_levels l (map fst bs).
Proof.
  induction bs as [|[l' x'] bs IH]; intros l x; simpl; [reflexivity|].
  destruct (l =? l'); [apply IH|reflexivity].
Qed.
Lemma push_fst q t : map fst (fst (push q t)) = carry_levels 0 (map fst (fst q)).
Proof. unfold push, gated. simpl. rewrite carry_fst, map_map. reflexivity. Qed.
Lemma feed_fst u : forall c,
  map fst (fst (fst (feed (next machine_of) c u))) = Nat.iter (length u) (carry_levels 0) (map fst (fst (fst c))).
Proof.
  induction u as [|t u IH]; intros c; [reflexivity|].
  change (feed (next machine_of) c (t :: u)) with (feed (next machine_of) (next machine_of (fst c) t) u).
  rewrite IH. change (fst (fst (next machine_of (fst c) t))) with (fst (push (fst c) t)).
  rewrite push_fst. simpl length. rewrite iter_shift. reflexivity.
Qed.

Theorem one_level r u : length u = 2 ^ r ->
  exists x o, mem (start machine_of) (next machine_of) u = ([(r, x)], o).
Proof.
  intros H. pose proof (feed_fst u (start machine_of)) as E. rewrite H, carried in E by constructor.
  unfold mem, run. destruct (fst (feed (next machine_of) (start machine_of) u)) as [bs o]. simpl in E.
  destruct bs as [|[l x] [|? ?]]; simpl in E; try discriminate. injection E as ->. eauto.
Qed.

(** Every matrix that it forms is one of [Ls], every other state one of [Lr]. *)
Definition legal (Ls : list (ll_matrix M)) (Lr : list (ll_rest M)) (q : memory) : Prop :=
  Forall (fun b => In (snd b) Ls) (fst q) /\ In (snd q) Lr.
Definition closed Ls Lr : Prop :=
  In (ll_rest0 M) Lr /\
  (forall x y, In x Ls -> In y Ls -> In (ll_merge M x y) Ls) /\
  (forall q t, legal Ls Lr q -> In (ll_leaf M q t) Ls /\ In (ll_next M q t) Lr) /\
  (forall q t x, legal Ls Lr q -> In x Ls -> In (ll_gate M q t x) Ls).

Lemma carry_legal Ls bs : (forall x y, In x Ls -> In y Ls -> In (ll_merge M x y) Ls) ->
  Forall (fun b => In (snd b) Ls) bs ->
  forall l x, In x Ls -> Forall (fun b => In (snd b) Ls) (carry l x bs).
Proof.
  intros Hm. induction 1 as [|[l' x'] bs Hx Hbs IH]; intros l x H; simpl; [auto|].
  destruct (l =? l'); [apply IH, Hm; assumption|]. repeat constructor; assumption.
Qed.
Lemma push_legal Ls Lr : closed Ls Lr -> forall q t, legal Ls Lr q -> legal Ls Lr (push q t).
Proof.
  intros [_ [Hm [Hl Hg]]] q t Hq. destruct (Hl q t Hq) as [H1 H2]. split; [|exact H2].
  apply carry_legal; [exact Hm| |exact H1]. unfold gated. apply Forall_forall. intros b Hb.
  apply in_map_iff in Hb. destruct Hb as [b' [<- Hb']]. simpl. apply Hg; [exact Hq|].
  destruct Hq as [F _]. rewrite Forall_forall in F. apply F, Hb'.
Qed.

(** After 2^r tokens s bits: one matrix a head, and the states of the other layers. *)
Definition merged_bits (r s : nat) : Prop :=
  exists (Ls : list (ll_matrix M)) (Lr : list (ll_rest M)), length Ls * length Lr <= 2 ^ s /\
    forall u x o, length u = 2 ^ r ->
      mem (start machine_of) (next machine_of) u = ([(r, x)], o) -> In x Ls /\ In o Lr.

Lemma merged_bits_always r s Ls Lr : length Ls * length Lr <= 2 ^ s -> closed Ls Lr -> merged_bits r s.
Proof.
  intros H Hc. exists Ls, Lr. split; [assumption|]. intros u x o _ E.
  assert (G : legal Ls Lr ([(r, x)], o)).
  { rewrite <- E. apply (mem_inv (legal Ls Lr)).
    - split; [constructor|apply Hc].
    - intros q t. apply push_legal, Hc. }
  destruct G as [G1 G2]. inversion G1; subst. auto.
Qed.
End Stack.


(** The first 2^r of the n values are free, the others 0; any chain of thought. *)
Theorem log_linear_state (M : log_linear nat) s n V r : 2 ^ r <= n -> 0 < V ->
  merged_bits M r s -> evaluates (machine_of M) n V -> V ^ (2 ^ r) <= 2 ^ s.
Proof.
  intros Hr HV [Ls [Lr [HL Hc]]] [value [query [Ha C]]].
  etransitivity; [|exact HL]. rewrite <- nwords_length, <- prod_length.
  rewrite <- (map_length (fun p => ([(r, fst p)], snd p)) (list_prod Ls Lr)).
  set (pad := repeat 0 (n - 2 ^ r)).
  apply (cut_bound (start (machine_of M)) (next (machine_of M))
           (cot (next (machine_of M)) (writes (machine_of M)) (stops (machine_of M)) 0)
           (cot_fun _ _ _ 0) (nwords (2 ^ r) V) (seq 0 (2 ^ r)) (wrv value 0)
           (fun x => wrv value (2 ^ r) pad ++ query x) (fun f x => nth x f 0)).
  - apply nwords_NoDup.
  - intros f Hf. apply in_nwords in Hf. destruct Hf as [L _].
    destruct (one_level M r (wrv value 0 f)) as [x [o E]]; [rewrite wrv_len; exact L|]. rewrite E.
    apply in_map_iff. exists (x, o). split; [reflexivity|].
    apply in_prod; apply (Hc (wrv value 0 f) x o); try exact E; rewrite wrv_len; exact L.
  - intros x _ E. apply app_eq_nil in E. destruct E as [_ E]. exact (Ha x E).
  - intros f x Hf Hx. apply in_nwords in Hf. destruct Hf as [L F]. apply in_seq in Hx.
    assert (T : nth x (f ++ pad) 0 = nth x f 0) by (apply app_nth1; lia). rewrite <- T.
    replace (wrv value 0 f ++ wrv value (2 ^ r) pad ++ query x) with (eva_input value query (f ++ pad) x)
      by (unfold eva_input; rewrite wrv_app, L, <- app_assoc; reflexivity).
    apply C; [unfold pad; rewrite app_length, repeat_length; lia| |lia].
    apply Forall_app. split; [exact F|]. apply Forall_forall. intros v Hv. apply repeat_spec in Hv. lia.
  - intros f g Hf Hg E. apply in_nwords in Hf, Hg.
    apply (nth_ext_on 0 f g (2 ^ r)); [tauto|tauto|]. intros i Hi. apply E, in_seq. lia.
Qed.

(** ** What a verdict says *)
Definition log_linear_exceeds (s n V r a b : N) : bool :=
  ((2 ^ r <=? n) && power_exceeds s (2 ^ r) V a b)%N.

Theorem cannot_evaluate_log_linear s n V r a b : log_linear_exceeds s n V r a b = true ->
  forall M, merged_bits M (N.to_nat r) (N.to_nat s) -> ~ evaluates (machine_of M) (N.to_nat n) (N.to_nat V).
Proof.
  unfold log_linear_exceeds. rewrite andb_true_iff, N.leb_le. intros [Hr H] M Hs C.
  apply power_exceeds_sound in H. apply to_nat_le in Hr. rewrite N2Nat.inj_pow in Hr, H.
  change (N.to_nat 2) with 2 in *.
  assert (HV : 0 < N.to_nat V).
  { destruct (N.to_nat V); [|lia]. rewrite Nat.pow_0_l in H; [lia|apply Nat.pow_nonzero; lia]. }
  pose proof (log_linear_state M _ _ _ _ Hr HV Hs C). lia.
Qed.
