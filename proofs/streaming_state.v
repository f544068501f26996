(** A machine that reads once, with or without chain of thought (an RNN, linear
    attention, Mamba, DeltaNet, windows, stacks of these): its memory after the prefix
    must tell apart all prefixes whose answers differ.  Eva, Index, Retrieval,
    Equality, Disjointness. *)
From Coq Require Import List Arith Lia Bool PeanoNat NArith.
Import ListNotations.
From Limen Require Import counting powers.

Section Machine.
Context {St Out Tok Ans : Type}.
(** A configuration is (memory, last output).  Only the memory survives the next
    token; the output y_t = f(h_{t-1}, x_t) of the last token is not counted. *)
Variable init : St * Out.
Variable step : St -> Tok -> St * Out.

Definition feed (c : St * Out) (w : list Tok) : St * Out :=
  fold_left (fun c t => step (fst c) t) w c.
Definition run (u : list Tok) : St * Out := feed init u.
Definition mem (u : list Tok) : St := fst (run u).

Lemma run_app u t w : run (u ++ t :: w) = feed (step (mem u) t) w.
Proof. unfold mem, run, feed. rewrite fold_left_app. reflexivity. Qed.
(** Something is still to be read: so of the past the memory alone counts. *)
Lemma same_memory u v w : w <> [] -> mem u = mem v -> run (u ++ w) = run (v ++ w).
Proof. destruct w as [|t w]; [congruence|]. intros _ E. rewrite !run_app, E. reflexivity. Qed.

(** Myhill-Nerode at one cut, for ANY functional answer relation on the final
    configuration. *)
Variable answer : St * Out -> Ans -> Prop.
Hypothesis answer_fun : forall q a b, answer q a -> answer q b -> a = b.

Theorem cut_bound {X Y} (F : list X) (W : list Y) (enc : X -> list Tok)
    (ask : Y -> list Tok) (truth : X -> Y -> Ans) (Ks : list St) :
  NoDup F ->
  (forall u, In u F -> In (mem (enc u)) Ks) ->
  (forall w, In w W -> ask w <> []) ->
  (forall u w, In u F -> In w W -> answer (run (enc u ++ ask w)) (truth u w)) ->
  (forall u v, In u F -> In v F -> (forall w, In w W -> truth u w = truth v w) -> u = v) ->
  length F <= length Ks.
Proof.
  intros HF HK Ha Hc Hsep. apply (pigeon (fun u => mem (enc u))); auto.
  intros u v Hu Hv E. apply Hsep; auto. intros w Hw.
  apply answer_fun with (q := run (enc u ++ ask w)); auto.
  rewrite (same_memory (enc u) (enc v)); auto.
Qed.

(** Chain of thought.  [emit t c] is the t-th generated token (coins fixed: it
    may depend on t), it is fed back; [stop t c] ends with an answer.  No bound
    on the number of tokens. *)
Variable emit : nat -> St * Out -> Tok.
Variable stop : nat -> St * Out -> option Ans.

Inductive cot : nat -> St * Out -> Ans -> Prop :=
| cot_stop : forall t c a, stop t c = Some a -> cot t c a
| cot_step : forall t c a, stop t c = None -> cot (S t) (step (fst c) (emit t c)) a -> cot t c a.

Lemma cot_fun t c a b : cot t c a -> cot t c b -> a = b.
Proof.
  intros H; revert b; induction H as [t q a Hs|t q a Hs Hc IH]; intros b Hb;
    inversion Hb; subst; try congruence; auto.
Qed.
End Machine.

(** The readout without CoT is the special case stop = Some o readout. *)
Section Tasks.
Context {St Out : Type}.

(** Eva / Index: tokens f(0)..f(n-1), then the query token. *)
Section Eva.
Context {Tok : Type}.
Variables (init : St * Out) (step : St -> Tok -> St * Out) (emit : nat -> St * Out -> Tok)
          (stop : nat -> St * Out -> option nat).
Variables (val : nat -> nat -> Tok) (qry : nat -> list Tok).
  (* [val i v]: value v at position i; [qry x]: the tokens that ask for x *)
Hypothesis asks : forall x, qry x <> [].
Variables (n V : nat) (Ks : list St).

Fixpoint wrv (i : nat) (f : list nat) : list Tok :=
  match f with [] => [] | v :: f => val i v :: wrv (S i) f end.
Definition eva_input (f : list nat) (x : nat) : list Tok := wrv 0 f ++ qry x.
Definition eva_correct : Prop :=
  forall f x, length f = n -> Forall (fun a => a < V) f -> x < n ->
    cot step emit stop 0 (run init step (eva_input f x)) (nth x f 0).

Theorem streaming_state :
  (forall f, In f (nwords n V) -> In (mem init step (wrv 0 f)) Ks) -> eva_correct -> V ^ n <= length Ks.
Proof.
  intros HK Hc. rewrite <- nwords_length.
  apply (cut_bound init step (cot step emit stop 0) (cot_fun step emit stop 0)
           (nwords n V) (seq 0 n) (wrv 0) qry (fun f x => nth x f 0)).
  - apply nwords_NoDup.
  - auto.
  - auto.
  - intros f x Hf Hx. apply in_nwords in Hf. apply in_seq in Hx. destruct Hf.
    apply Hc; auto. lia.
  - intros f g Hf Hg E. apply in_nwords in Hf, Hg.
    apply (nth_ext_on 0 f g n); [tauto|tauto|]. intros i Hi. apply E, in_seq. lia.
Qed.
End Eva.

(** No-CoT corollary with an arbitrary readout of (memory, last output). *)
Corollary streaming_state_readout {Tok} init (step : St -> Tok -> St * Out) (out : St * Out -> nat)
    val qry n V Ks : (forall x, qry x <> []) ->
  (forall f, In f (nwords n V) -> In (mem init step (wrv val 0 f)) Ks) ->
  (forall f x, length f = n -> Forall (fun a => a < V) f -> x < n ->
     out (run init step (eva_input val qry f x)) = nth x f 0) ->
  V ^ n <= length Ks.
Proof.
  intros Ha HK H.
  apply (streaming_state init step (fun _ _ => val 0 0) (fun _ q => Some (out q)) val qry); auto.
  intros f x L F X. constructor. f_equal. apply H; auto.
Qed.

(** Equality and Disjointness, tokens = bits with positions; any separators, or none. *)
Section EqDisj.
Context {Tok : Type}.
Variables (init : St * Out) (step : St -> Tok -> St * Out) (emit : nat -> St * Out -> Tok)
          (stop : nat -> St * Out -> option bool).
Variables (bit : nat -> bool -> Tok) (sep eos : list Tok) (n : nat) (Ks : list St).
Hypothesis Hn : 0 < n.

(** [bit i b]: the i-th token may carry its position. *)
Fixpoint wr (i : nat) (a : list bool) : list Tok :=
  match a with [] => [] | b :: a => bit i b :: wr (S i) a end.
Definition eqb_l (a b : list bool) : bool := if list_eq_dec bool_dec a b then true else false.
Fixpoint disj (a b : list bool) : bool :=
  match a, b with x :: a, y :: b => negb (x && y) && disj a b | _, _ => true end.
Definition two_input a b := wr 0 a ++ (sep ++ wr n b ++ eos).

Definition solves (g : list bool -> list bool -> bool) : Prop :=
  forall a b, length a = n -> length b = n ->
    cot step emit stop 0 (run init step (two_input a b)) (g a b).

Lemma two_bound (g : list bool -> list bool -> bool) :
  (forall a a', length a = n -> length a' = n ->
     (forall b, length b = n -> g a b = g a' b) -> a = a') ->
  (forall a, length a = n -> In (mem init step (wr 0 a)) Ks) -> solves g -> 2 ^ n <= length Ks.
Proof.
  intros Hsep HK Hc. rewrite <- bwords_length.
  apply (cut_bound init step (cot step emit stop 0) (cot_fun step emit stop 0)
           (bwords n) (bwords n) (wr 0) (fun b => sep ++ wr n b ++ eos) g).
  - apply bwords_NoDup.
  - intros a Ha. apply HK, in_bwords, Ha.
  - intros b Hb E. apply in_bwords in Hb. apply app_eq_nil in E. destruct E as [_ E].
    apply app_eq_nil in E. destruct b; simpl in Hb, E; [lia|destruct E; discriminate].
  - intros a b Ha Hb. apply in_bwords in Ha, Hb. apply Hc; auto.
  - intros a a' Ha Ha' E. apply in_bwords in Ha, Ha'. apply Hsep; auto.
    intros b Hb. apply E, in_bwords, Hb.
Qed.

Lemma eqb_sep (a a' : list bool) : length a = n -> length a' = n ->
  (forall b, length b = n -> eqb_l a b = eqb_l a' b) -> a = a'.
Proof.
  intros Ha Ha' H. specialize (H a Ha). unfold eqb_l in H.
  destruct (list_eq_dec bool_dec a a); [|congruence].
  destruct (list_eq_dec bool_dec a' a); congruence.
Qed.

Definition unit_vec k i := map (fun j => j =? i) (seq 0 k).
Lemma disj_none a k j i : i < j -> disj a (map (fun x => x =? i) (seq j k)) = true.
Proof.
  revert k j; induction a as [|x a IH]; intros [|k] j H; simpl; auto.
  rewrite IH by lia. replace (j =? i) with false by (symmetry; apply Nat.eqb_neq; lia).
  rewrite andb_false_r. reflexivity.
Qed.
Lemma disj_unit a : forall j i, i < length a ->
  disj a (map (fun x => x =? j + i) (seq j (length a))) = negb (nth i a false).
Proof.
  induction a as [|x a IH]; intros j i H; simpl in *; [lia|].
  destruct i as [|i].
  - replace (j =? j + 0) with true by (symmetry; apply Nat.eqb_eq; lia).
    rewrite disj_none by lia. rewrite andb_true_r, andb_true_r. reflexivity.
  - replace (j =? j + S i) with false by (symmetry; apply Nat.eqb_neq; lia).
    rewrite andb_false_r; simpl. rewrite <- (IH (S j) i) by lia.
    f_equal. apply map_ext. intros y. f_equal. lia.
Qed.

Lemma disj_sep (a a' : list bool) : length a = n -> length a' = n ->
  (forall b, length b = n -> disj a b = disj a' b) -> a = a'.
Proof.
  intros Ha Ha' H. apply (nth_ext_on false a a' n); auto. intros i Hi.
  pose proof (disj_unit a 0 i ltac:(lia)) as H1.
  pose proof (disj_unit a' 0 i ltac:(lia)) as H2.
  rewrite Ha in H1. rewrite Ha' in H2. simpl in *.
  rewrite H in H1 by (rewrite map_length, seq_length; reflexivity).
  rewrite H1 in H2. destruct (nth i a false), (nth i a' false); simpl in *; congruence.
Qed.

Theorem equality_state :
  (forall a, length a = n -> In (mem init step (wr 0 a)) Ks) -> solves eqb_l -> 2 ^ n <= length Ks.
Proof. apply two_bound, eqb_sep. Qed.
Theorem disjointness_state :
  (forall a, length a = n -> In (mem init step (wr 0 a)) Ks) -> solves disj -> 2 ^ n <= length Ks.
Proof. apply two_bound, disj_sep. Qed.
End EqDisj.
End Tasks.

(** Memory invariant -> every reachable memory is enumerated. *)
Lemma mem_inv {St Out Tok} (P : St -> Prop) (init : St * Out) (step : St -> Tok -> St * Out) :
  P (fst init) -> (forall q t, P q -> P (fst (step q t))) -> forall u, P (mem init step u).
Proof.
  intros Hi Hs u. unfold mem, run, feed. revert Hi. generalize init.
  induction u as [|t u IH]; intros c Hc; simpl; auto.
Qed.

(** Bits: a memory of s bits. *)
Lemma bits_of_pow V n s : V ^ n <= 2 ^ s -> n * Nat.log2 V <= s.
Proof.
  intros H. destruct (Nat.eq_dec V 0) as [->|HV]; [change (Nat.log2 0) with 0; lia|].
  apply (Nat.pow_le_mono_r_iff 2); [lia|].
  etransitivity; [|exact H].
  rewrite Nat.mul_comm, Nat.pow_mul_r. apply Nat.pow_le_mono_l.
  apply Nat.log2_spec. lia.
Qed.

Corollary streaming_bits {Out Tok} (init : list bool * Out)
    (step : list bool -> Tok -> list bool * Out) emit stop val qry n V s : (forall x, qry x <> []) ->
  length (fst init) = s -> (forall q t, length q = s -> length (fst (step q t)) = s) ->
  eva_correct init step emit stop val qry n V ->
  V ^ n <= 2 ^ s /\ n * Nat.log2 V <= s.
Proof.
  intros Ha Hi Hs Hc.
  assert (H : V ^ n <= 2 ^ s); [|split; auto using bits_of_pow].
  rewrite <- bwords_length.
  apply (streaming_state init step emit stop val qry Ha n V (bwords s)); auto.
  intros u _. apply in_bwords. apply mem_inv; auto.
Qed.

(** A stack of recurrent layers (h_t, y_t) = g(h_{t-1}, x_t) is one machine whose
    memory is the list of the layers' memories: counts multiply. *)
Section Stack.
Context {Tok : Type}.
Definition layer := nat -> Tok -> nat * Tok.
Fixpoint stack_step (ls : list layer) (qs : list nat) (x : Tok) : list nat * Tok :=
  match ls, qs with
  | l :: ls, q :: qs =>
      let (q', y) := l q x in let (qs', z) := stack_step ls qs y in (q' :: qs', z)
  | _, _ => ([], x)
  end.
Definition fits (K : nat) (l : layer) := forall q x, q < K -> fst (l q x) < K.
Lemma stack_words ls K : Forall (fits K) ls ->
  forall qs x, In qs (nwords (length ls) K) -> In (fst (stack_step ls qs x)) (nwords (length ls) K).
Proof.
  induction 1 as [|l ls Hl _ IH]; intros qs x Hq; apply in_nwords in Hq; destruct Hq as [L F];
    destruct qs as [|q qs]; simpl in L; try discriminate; apply in_nwords; simpl; [auto|].
  inversion F; subst. specialize (Hl q x). destruct (l q x) as [q' y].
  specialize (IH qs y). destruct (stack_step ls qs y) as [qs' z]; simpl in *.
  rewrite !in_nwords in IH. destruct IH; [split; [lia|assumption]|].
  split; [lia|]. constructor; auto.
Qed.
Theorem stack_state ls K qs0 y0 emit stop val qry n V : (forall x, qry x <> []) ->
  Forall (fits K) ls -> In qs0 (nwords (length ls) K) ->
  eva_correct (qs0, y0) (stack_step ls) emit stop val qry n V -> V ^ n <= K ^ length ls.
Proof.
  intros Ha H H0 Hc. rewrite <- nwords_length with (n := length ls).
  apply (streaming_state (qs0, y0) (stack_step ls) emit stop val qry); auto.
  intros f _. apply (mem_inv (fun q => In q (nwords (length ls) K))); auto using stack_words.
Qed.
End Stack.

(** ** What a verdict says
    A machine with everything that it needs for a chain of thought: [writes t c] is the
    t-th token that it writes and reads again, [stops t c] whether it answers instead.
    Its memory after t tokens has s bits if it has at most 2^s values then. *)
Record machine (Ans : Type) := {
  Token : Type; Memory : Type; Output : Type;
  start : Memory * Output;
  next : Memory -> Token -> Memory * Output;
  writes : nat -> Memory * Output -> Token;
  stops : nat -> Memory * Output -> option Ans }.
Arguments Token {Ans}. Arguments Memory {Ans}. Arguments Output {Ans}. Arguments start {Ans}.
Arguments next {Ans}. Arguments writes {Ans}. Arguments stops {Ans}.

Definition memory_bits {Ans} (M : machine Ans) (t s : nat) : Prop :=
  exists states : list (Memory M), length states <= 2 ^ s /\
    forall u, length u = t -> In (mem (start M) (next M) u) states.

(** It has, in particular, if no step leaves a set of 2^s values. *)
Lemma memory_bits_always {Ans} (M : machine Ans) t s states : length states <= 2 ^ s ->
  In (fst (start M)) states -> (forall q x, In q states -> In (fst (next M q x)) states) ->
  memory_bits M t s.
Proof.
  intros L H0 H. exists states. split; [assumption|]. intros u _.
  apply (mem_inv (fun q => In q states)); assumption.
Qed.

(** After n values below V the machine is asked for one of them: Eva (V = n), Index,
    Retrieval (the tokens [value i v] may carry keys), composition (the tables below the
    first are fixed, and a part of what asks). *)
Definition evaluates (M : machine nat) (n V : nat) : Prop :=
  exists value query, (forall x, query x <> []) /\
    eva_correct (start M) (next M) (writes M) (stops M) value query n V.

(** After two strings of n bits, each token with its position, [g] is asked for. *)
Definition compares (g : list bool -> list bool -> bool) (M : machine bool) (n : nat) : Prop :=
  exists bit sep eos, solves (start M) (next M) (writes M) (stops M) bit sep eos n g.

Lemma wrv_len {Tok} (value : nat -> nat -> Tok) f : forall i, length (wrv value i f) = length f.
Proof. induction f as [|v f IH]; intros i; simpl; auto. Qed.
Lemma wrv_app {Tok} (value : nat -> nat -> Tok) f g : forall i,
  wrv value i (f ++ g) = wrv value i f ++ wrv value (i + length f) g.
Proof.
  induction f as [|v f IH]; intros i; simpl; [rewrite Nat.add_0_r; reflexivity|].
  rewrite IH. do 2 f_equal. f_equal. lia.
Qed.
Lemma wr_len {Tok} (bit : nat -> bool -> Tok) f : forall i, length (wr bit i f) = length f.
Proof. induction f as [|v f IH]; intros i; simpl; auto. Qed.

Theorem cannot_evaluate s n V a b : power_exceeds s n V a b = true ->
  forall M, memory_bits M (N.to_nat n) (N.to_nat s) -> ~ evaluates M (N.to_nat n) (N.to_nat V).
Proof.
  intros H M [states [L Hm]] [value [query [Ha C]]]. apply power_exceeds_sound in H.
  assert (V' : N.to_nat V ^ N.to_nat n <= length states); [|lia].
  apply (streaming_state (start M) (next M) (writes M) (stops M) value query); try assumption.
  intros f Hf. apply Hm. rewrite wrv_len. apply in_nwords in Hf. tauto.
Qed.

Theorem cannot_compare g s n :
  (g = eqb_l \/ g = disj) -> (s <? n)%N = true ->
  forall M, memory_bits M (N.to_nat n) (N.to_nat s) -> ~ compares g M (N.to_nat n).
Proof.
  intros Hg H M [states [L Hm]] [bit [sep [eos C]]]. apply N.ltb_lt, to_nat_lt in H.
  assert (E : 2 ^ N.to_nat n <= length states).
  { destruct Hg; subst g;
      [apply (equality_state (start M) (next M) (writes M) (stops M) bit sep eos)
      |apply (disjointness_state (start M) (next M) (writes M) (stops M) bit sep eos)];
      try lia; try assumption; intros x Hx; apply Hm; rewrite wr_len; exact Hx. }
  assert (2 ^ N.to_nat s < 2 ^ N.to_nat n) by (apply Nat.pow_lt_mono_r; lia). lia.
Qed.
