(** Softmax heads that an affine map reads: H heads answer at most 2^(H+1) - 3 free questions that end with one token,
    whatever their numbers.  Over any ordered commutative ring. *)
From Coq Require Import List Ring Lia Arith Bool NArith FinFun.
From Limen Require Import linear_read one_sum.
Import ListNotations.

(** What one head gets: sums of weighted values and of weights, of Alice's tokens and of all others. *)
Record head (F : numbers) (Pre Suf : Type) := Head {
  values_of : Pre -> num F; weights_of : Pre -> num F; other_values : Suf -> num F; other_weights : Suf -> num F }.
Arguments values_of {F Pre Suf}. Arguments weights_of {F Pre Suf}.
Arguments other_values {F Pre Suf}. Arguments other_weights {F Pre Suf}.

Section Heads.
Variables (F : numbers) (Pre Suf : Type).
Local Notation "x + y" := (plus F x y).
Local Notation "x * y" := (times F x y).
Local Notation "0" := (zero F).
Local Notation "1" := (one F).
Add Ring Fh : (num_ring F).
Local Notation head := (head F Pre Suf).

(** the product of all denominators, and the sum of all averages times that product *)
Fixpoint below (hs : list head) (x : Suf) (p : Pre) : num F :=
  match hs with [] => 1 | h :: hs => (weights_of h p + other_weights h x) * below hs x p end.
Fixpoint above (hs : list head) (x : Suf) (p : Pre) : num F :=
  match hs with
  | [] => 0
  | h :: hs => (values_of h p + other_values h x) * below hs x p + (weights_of h p + other_weights h x) * above hs x p
  end.

(** for each set T of heads: Bob's product b of the others, Alice's product a of T, her sum E and his sum r *)
Record quad := Quad { b : Suf -> num F; a : Pre -> num F; E : Pre -> num F; r : Suf -> num F }.
Definition with_head (h : head) (t : quad) : quad :=
  Quad (b t) (fun p => weights_of h p * a t p) (fun p => values_of h p * a t p + weights_of h p * E t p) (r t).
Definition without (h : head) (t : quad) : quad :=
  Quad (fun x => other_weights h x * b t x) (a t) (E t) (fun x => other_values h x * b t x + other_weights h x * r t x).
Fixpoint quads (hs : list head) : list quad :=
  match hs with
  | [] => [Quad (fun _ => 1) (fun _ => 1) (fun _ => 0) (fun _ => 0)]
  | h :: hs => map (with_head h) (quads hs) ++ map (without h) (quads hs)
  end.
Definition add_up (g : quad -> num F) (ts : list quad) : num F := fold_right (fun t s => g t + s) 0 ts.
Lemma add_up_app g ts ts' : add_up g (ts ++ ts') = add_up g ts + add_up g ts'.
Proof. unfold add_up. induction ts as [|t ts IH]; cbn; [ring|]. rewrite IH. ring. Qed.
Lemma add_up_two (g g' k : quad -> num F) (u u' : quad -> quad) ts :
  (forall t, g (u t) + g' (u' t) = k t) -> add_up g (map u ts) + add_up g' (map u' ts) = add_up k ts.
Proof.
  intros H. unfold add_up in *. induction ts as [|t ts IH]; cbn; [ring|]. rewrite <- IH, <- H. ring.
Qed.
Lemma add_up_scale m g ts : add_up (fun t => m * g t) ts = m * add_up g ts.
Proof. unfold add_up. induction ts as [|t ts IH]; cbn; [ring|]. rewrite IH. ring. Qed.
Lemma add_up_plus g g' ts : add_up (fun t => g t + g' t) ts = add_up g ts + add_up g' ts.
Proof. unfold add_up. induction ts as [|t ts IH]; cbn; [ring|]. rewrite IH. ring. Qed.

Lemma below_quads hs x p : below hs x p = add_up (fun t => b t x * a t p) (quads hs).
Proof.
  induction hs as [|h hs IH]; cbn [below quads]; [cbn; ring|]. rewrite add_up_app.
  rewrite (add_up_two _ _ (fun t => (weights_of h p + other_weights h x) * (b t x * a t p))).
  - now rewrite add_up_scale, IH.
  - intros t. cbn. ring.
Qed.
Lemma above_quads hs x p : above hs x p = add_up (fun t => b t x * E t p + r t x * a t p) (quads hs).
Proof.
  induction hs as [|h hs IH]; cbn [above quads]; [cbn; ring|]. rewrite add_up_app.
  rewrite (add_up_two _ _ (fun t => (values_of h p + other_values h x) * (b t x * a t p)
    + (weights_of h p + other_weights h x) * (b t x * E t p + r t x * a t p))).
  - rewrite add_up_plus, !add_up_scale, IH, below_quads. reflexivity.
  - intros t. cbn. ring.
Qed.
Lemma quads_length hs : length (quads hs) = 2 ^ length hs.
Proof. induction hs as [|h hs IH]; [reflexivity|]. cbn [quads length]. rewrite app_length, !map_length, IH. cbn. lia. Qed.

(** the first is all heads, with b = 1 and r = 0; the last is none, with a = 1 and E = 0 *)
Lemma ends h hs : exists t ts u, quads (h :: hs) = t :: ts ++ [u]
  /\ (forall x, b t x = 1 /\ r t x = 0) /\ (forall p, a u p = 1 /\ E u p = 0).
Proof.
  assert (First : forall l, exists t ts, quads l = t :: ts /\ forall x, b t x = 1 /\ r t x = 0).
  { induction l as [|g l (t & ts & E1 & H)]; [now eexists _, _; split; [reflexivity|]|].
    cbn [quads]. rewrite E1. eexists _, _. split; [reflexivity|]. intros x. cbn. apply H. }
  assert (Last : forall l, exists ts u, quads l = ts ++ [u] /\ forall p, a u p = 1 /\ E u p = 0).
  { induction l as [|g l (ts & u & E1 & H)]; [now exists [], (Quad (fun _ => 1) (fun _ => 1) (fun _ => 0) (fun _ => 0))|].
    cbn [quads]. rewrite E1, !map_app. exists (map (with_head g) ts ++ [with_head g u] ++ map (without g) ts), (without g u).
    cbn [map]. rewrite <- !app_assoc. split; [reflexivity|]. intros p. cbn. apply H. }
  destruct (First hs) as (t & ts & E1 & H1), (Last hs) as (ts' & u & E2 & H2).
  exists (with_head h t), (map (with_head h) ts ++ map (without h) ts'), (without h u).
  split; [|split; [intros x; apply H1|intros p; apply H2]].
  cbn [quads]. rewrite E1 at 1. rewrite E2, map_app. cbn. now rewrite <- app_assoc.
Qed.

(** the difference of two logits: [scale] is a norm's and that of the denominators *)
Variables (hs : list head) (c : num F) (scale diff : Suf -> Pre -> num F) (answer : Suf -> Pre -> bool).
Hypothesis scaled : forall x p, less F 0 (scale x p) /\ diff x p = scale x p * (above hs x p + c * below hs x p).
Hypothesis says_a : forall x p, answer x p = true -> ~ less F (diff x p) 0.
Hypothesis says_b : forall x p, answer x p = false -> ~ less F 0 (diff x p).
Hypothesis tie : forall x p p', diff x p = 0 -> diff x p' = 0 -> answer x p = answer x p'.

(** coordinates: one of all heads together; two of every other set that is not empty *)
Inductive place := All | Sum_of (n : nat) | Product_of (n : nat).
Definition places (m : nat) : list place := All :: map Sum_of (seq O m) ++ map Product_of (seq O m).

Theorem softmax_read xs : hs <> [] -> free answer xs -> length xs <= 2 ^ S (length hs) - 3.
Proof.
  intros N Fr. destruct hs as [|h l] eqn:Eh; [now elim N|].
  destruct (ends h l) as (t & ts & u & Eq & Ht & Hu). set (m := length ts). set (o := Quad (fun _ => 0) (fun _ => 0) (fun _ => 0) (fun _ => 0)).
  assert (L : length (places m) = 2 ^ S (length (h :: l)) - 3).
  { unfold places. cbn [length]. rewrite app_length, !map_length, seq_length.
    pose proof (quads_length (h :: l)) as Q. rewrite Eq in Q. cbn [length] in Q. rewrite app_length in Q. cbn [length] in Q.
    fold m in Q. cbn [Nat.pow length] in *. lia. }
  rewrite <- L.
  set (w := fun p j => match j with All => E t p + c * a t p | Sum_of n => E (nth n ts o) p | Product_of n => a (nth n ts o) p end).
  set (q := fun x j => match j with All => 1 | Sum_of n => b (nth n ts o) x | Product_of n => r (nth n ts o) x + c * b (nth n ts o) x end).
  apply (linear_read (num F) 0 1 (plus F) (times F) (minus F) (negated F) (less F) (num_ring F) (less_irrefl F) (less_trans F)
    (less_total F) (less_plus F) (less_times F) (less_one F) (places m) w (fun x => r u x + c * b u x) q diff scale) with (answer := answer);
    [|exact says_a|exact says_b|exact tie|exact Fr].
  intros x p. destruct (scaled x p) as [P D]. split; [exact P|]. rewrite D. f_equal.
  rewrite above_quads, below_quads, <- add_up_scale, <- add_up_plus, Eq. cbn [add_up fold_right].
  change (fold_right (fun t0 s => b t0 x * E t0 p + r t0 x * a t0 p + c * (b t0 x * a t0 p) + s) 0 (ts ++ [u]))
    with (add_up (fun t0 => b t0 x * E t0 p + r t0 x * a t0 p + c * (b t0 x * a t0 p)) (ts ++ [u])).
  rewrite add_up_app. cbn [add_up fold_right]. destruct (Ht x) as [-> ->], (Hu p) as [-> ->].
  assert (Mid : add_up (fun t0 => b t0 x * E t0 p + r t0 x * a t0 p + c * (b t0 x * a t0 p)) ts
    = dot (num F) 0 (plus F) (times F) (map Sum_of (seq O m) ++ map Product_of (seq O m)) (q x) (w p)).
  { assert (App : forall js js', dot (num F) 0 (plus F) (times F) (js ++ js') (q x) (w p)
        = dot (num F) 0 (plus F) (times F) js (q x) (w p) + dot (num F) 0 (plus F) (times F) js' (q x) (w p)).
    { intros js js'. unfold dot. induction js as [|j js IH]; cbn; [ring|]. rewrite IH. ring. }
    assert (Each : forall g : quad -> num F, add_up g ts = fold_right (fun n s => g (nth n ts o) + s) 0 (seq O m)).
    { intros g. unfold m. clear. induction ts as [|v ts IH]; [reflexivity|]. cbn [length seq fold_right nth add_up].
      f_equal. unfold add_up in IH. rewrite IH, <- seq_shift. clear. induction (seq O (length ts)) as [|i is IHi]; cbn; [reflexivity|].
      now rewrite <- IHi. }
    rewrite App, Each. unfold dot. clearbody m. clear. induction (seq O m) as [|i is IH]; cbn; [ring|]. rewrite IH. ring. }
  rewrite Mid. unfold f, dot, places. cbn [fold_right]. unfold q at 2, w at 2. ring.
Qed.
End Heads.

(** * A concrete verdict: n keys and n values in tokens of their own, and one key that is asked for *)
(** Weights and values of the tokens that hold values, that hold keys, and of the last one, by head; [rest] is what the
    last token itself adds, [factor] a norm's over the product of all normalisers. *)
Record softmax_layer (F : numbers) := SoftmaxLayer {
  wv : nat -> nat -> nat -> nat -> num F; wk : nat -> nat -> nat -> nat -> num F; wl : nat -> nat -> num F;
  uv : nat -> nat -> nat -> nat -> nat -> num F; uk : nat -> nat -> nat -> nat -> nat -> num F; ul : nat -> nat -> nat -> num F;
  rest_of : nat -> nat -> num F; factor : list nat -> list nat -> nat -> num F;
  factor_pos : forall vs ks k, less F (zero F) (factor vs ks k) }.

Section Recall.
Variables (F : numbers) (M : softmax_layer F) (H : nat).
Local Notation "x + y" := (plus F x y).
Local Notation "x * y" := (times F x y).
Local Notation "x - y" := (minus F x y).
Add Ring Fq : (num_ring F).
(** a head as the value tokens and the key tokens make it, what it adds being [u], [u'] and [u''] *)
Definition made (k h : nat) u u' u'' : head F (list nat) (list nat) := Head F (list nat) (list nat)
  (added F (fun i x => wv F M h k i x * u i x) O) (added F (wv F M h k) O)
  (fun ks => added F (fun i x => wk F M h k i x * u' i x) O ks + wl F M h k * u'')
  (fun ks => added F (wk F M h k) O ks + wl F M h k).
Definition heads_of (k a : nat) := map (fun h => made k h (uv F M a h k) (uk F M a h k) (ul F M a h k)) (seq O H).
Definition recall_logit (vs ks : list nat) (k a : nat) : num F :=
  factor F M vs ks k * (above F _ _ (heads_of k a) ks vs + rest_of F M a k * below F _ _ (heads_of k a) ks vs).
Definition recalls (n V : nat) : Prop := forall vs ks i, length vs = n -> length ks = n -> NoDup ks ->
  (forall x, In x (vs ++ ks) -> x < V) -> i < n -> first_largest F V (recall_logit vs ks (nth i ks O)) (nth i vs O).

Definition apart (k : nat) := map (fun h => made k h (fun i x => uv F M 0 h k i x - uv F M 1 h k i x)
  (fun i x => uk F M 0 h k i x - uk F M 1 h k i x) (ul F M 0 h k - ul F M 1 h k)) (seq O H).
Lemma added_minus g g' m s : added F (fun i x => g i x * (m i x - g' i x)) O s
  = added F (fun i x => g i x * m i x) O s - added F (fun i x => g i x * g' i x) O s.
Proof. generalize O. induction s as [|x s IH]; intros k; cbn; [ring|]. rewrite IH. ring. Qed.
Lemma difference ks vs k :
  below F _ _ (heads_of k 0) ks vs = below F _ _ (apart k) ks vs /\ below F _ _ (heads_of k 1) ks vs = below F _ _ (apart k) ks vs
  /\ above F _ _ (heads_of k 0) ks vs - above F _ _ (heads_of k 1) ks vs = above F _ _ (apart k) ks vs.
Proof.
  unfold heads_of, apart. induction (seq O H) as [|h hs (B0 & B1 & A)]; cbn [map below above]; [repeat split; ring|].
  rewrite B0, B1. split; [reflexivity|]. split; [reflexivity|]. rewrite <- A. cbn [values_of weights_of other_values other_weights made].
  rewrite !added_minus. ring.
Qed.
(** the key 0 stands at place i *)
Definition keys_at (n i : nat) : list nat := map (fun j => if j =? i then 0 else if j =? 0 then i else j) (seq O n).
Lemma keys_at_nth n i : i < n -> nth i (keys_at n i) O = 0.
Proof.
  intros Hi. unfold keys_at. rewrite (nth_indep _ O ((fun j => if j =? i then 0 else if j =? 0 then i else j) O)) by now rewrite map_length, seq_length.
  rewrite (map_nth (fun j => if j =? i then 0 else if j =? 0 then i else j)), seq_nth by exact Hi. cbn [Nat.add]. now rewrite Nat.eqb_refl.
Qed.
Lemma keys_at_NoDup n i : NoDup (keys_at n i).
Proof.
  apply FinFun.Injective_map_NoDup; [|apply seq_NoDup]. intros x y E.
  destruct (Nat.eqb_spec x i), (Nat.eqb_spec y i), (Nat.eqb_spec x 0), (Nat.eqb_spec y 0); lia.
Qed.

Theorem recall_bound n V : 1 <= H -> 1 <= n -> n <= V -> 2 <= V -> recalls n V -> n <= 2 ^ S H - 3.
Proof.
  intros HH Hn HnV HV Ok.
  set (Pre := {bs : list bool | length bs = n}). set (word := fun p : Pre => symbols (proj1_sig p)).
  set (at_ := fun x => Nat.min x (n - 1)).
  assert (Hat : forall x, at_ x < n) by (intros x; unfold at_; lia).
  set (diff := fun (x : nat) (p : Pre) => recall_logit (word p) (keys_at n (at_ x)) 0 0 - recall_logit (word p) (keys_at n (at_ x)) 0 1).
  set (answer := fun (x : nat) (p : Pre) => nth (at_ x) (word p) O =? 0).
  assert (Right : forall x p, first_largest F V (recall_logit (word p) (keys_at n (at_ x)) 0) (nth (at_ x) (word p) O)).
  { intros x p. pose proof (Ok (word p) (keys_at n (at_ x)) (at_ x)) as G. rewrite keys_at_nth in G by apply Hat.
    apply G; [| |apply keys_at_NoDup| |apply Hat]; clear G.
    - unfold word, symbols. rewrite map_length. exact (proj2_sig p).
    - unfold keys_at. now rewrite map_length, seq_length.
    - intros y Hy. apply in_app_iff in Hy as [Hy|Hy].
      + unfold word, symbols in Hy. apply in_map_iff in Hy as ([] & <- & _); lia.
      + unfold keys_at in Hy. apply in_map_iff in Hy as (j & <- & Hj). apply in_seq in Hj. pose proof (Hat x).
        destruct (j =? at_ x), (j =? 0); lia. }
  assert (Bit : forall x p, nth (at_ x) (word p) O = 0 \/ nth (at_ x) (word p) O = 1).
  { intros x p. destruct (nth_in_or_default (at_ x) (word p) O) as [Hx|Hx]; [|now left].
    unfold word, symbols in Hx |- *. apply in_map_iff in Hx as ([] & E' & _); rewrite <- E'; auto. }
  assert (One : forall x p, nth (at_ x) (word p) O = 1 -> less F (diff x p) (zero F)).
  { intros x p E. pose proof (Right x p) as G. rewrite E in G. apply (proj2 (minus_neg F _ _)).
    destruct (G 0 ltac:(lia)) as [G' _]. apply G'. lia. }
  assert (L : length (apart 0) = H) by (unfold apart; now rewrite map_length, seq_length).
  rewrite <- L. rewrite <- (seq_length n O).
  pose (lift := fun h : head F (list nat) (list nat) => Head F Pre nat (fun p => values_of h (word p)) (fun p => weights_of h (word p))
    (fun x => other_values h (keys_at n (at_ x))) (fun x => other_weights h (keys_at n (at_ x)))).
  assert (Lift : forall hs x p, below F _ _ (map lift hs) x p = below F _ _ hs (keys_at n (at_ x)) (word p)
      /\ above F _ _ (map lift hs) x p = above F _ _ hs (keys_at n (at_ x)) (word p)).
  { intros hs x p. induction hs as [|h hs (IB & IA)]; cbn [map below above]; [now split|]. rewrite IB, IA. now split. }
  rewrite <- (map_length lift (apart 0)).
  apply (softmax_read F Pre nat (map lift (apart 0)) (rest_of F M 0 0 - rest_of F M 1 0)
    (fun x p => factor F M (word p) (keys_at n (at_ x)) 0) diff answer).
  - intros x p. split; [apply factor_pos|]. unfold diff, recall_logit. destruct (Lift (apart 0) x p) as [-> ->].
    destruct (difference (keys_at n (at_ x)) (word p) 0) as (B0 & B1 & <-). rewrite B0, B1. ring.
  - intros x p E. apply Nat.eqb_eq in E. pose proof (Right x p) as G. rewrite E in G. intros Ls.
    apply (proj1 (minus_neg F _ _)) in Ls. destruct (G 1 ltac:(lia)) as [_ G']. now apply G'; [lia|].
  - intros x p E. apply Nat.eqb_neq in E. destruct (Bit x p) as [B|B]; [contradiction|]. intros Ls.
    apply (less_irrefl F (zero F)), (less_trans F _ (diff x p)); [exact Ls|now apply One].
  - assert (T : forall x p, diff x p = zero F -> nth (at_ x) (word p) O = 0).
    { intros x p Z. destruct (Bit x p) as [B|B]; [exact B|]. pose proof (One x p B) as G. rewrite Z in G. now apply less_irrefl in G. }
    intros x p p' Z Z'. unfold answer. now rewrite (T x p Z), (T x p' Z').
  - intros E. apply (f_equal (@length _)) in E. rewrite map_length, L in E. cbn in E. lia.
  - intros bs Hbs. rewrite seq_length in Hbs. exists (exist _ bs Hbs). unfold answer, word. cbn [proj1_sig].
    transitivity (map (fun i => nth i (symbols bs) O =? 0) (seq O (length bs))); [|apply answers_back].
    rewrite Hbs. apply map_ext_in. intros i Hi. apply in_seq in Hi. unfold at_. now replace (Nat.min i (n - 1)) with i by lia.
Qed.
End Recall.

Theorem cannot_recall_by_heads (H n V : N) : ((1 <=? H) && (2 ^ (H + 1) - 3 <? n) && (2 * n <=? V))%N = true ->
  forall (F : numbers) (M : softmax_layer F), ~ recalls F M (N.to_nat H) (N.to_nat n) (N.to_nat V).
Proof.
  intros C F M R. apply andb_true_iff in C as [C HV]. apply andb_true_iff in C as [HH Hn].
  apply N.leb_le in HH, HV. apply N.ltb_lt in Hn. apply recall_bound in R; try lia.
  assert (E : 2 ^ S (N.to_nat H) = N.to_nat (2 ^ (H + 1))).
  { rewrite N2Nat.inj_pow. f_equal. lia. }
  rewrite E in R. lia.
Qed.
