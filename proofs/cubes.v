(** Cubes: words that take one of two letters at each of E places.  If few things are said about the words of a
    cube, then most of its places are free: the same is said of some word with the other letter there.  Averaged
    over all cubes, some place and some letters at the others leave many letters possible there, given what is
    said.  Counting alone: no entropy, no probability. *)
From Coq Require Import List Arith Lia Bool PeanoNat.
Import ListNotations.
From Limen Require Import counting.

(** ** One cube: what is said of the word at e is [say e], one of 2^d things. *)
Section Cube.
Variables E d : nat.
Hypothesis Hd : d <= E.
Variable say : list bool -> nat.
Hypothesis Hsay : forall e, say e < 2 ^ d.
Definition bit (a : nat) (e : list bool) : bool := nth a e false.
(** Place a is free at e. *)
Definition free (a : nat) (e : list bool) : bool :=
  existsb (fun e' => (say e' =? say e) && negb (eqb (bit a e') (bit a e))) (bwords E).
Definition class (c : nat) : list (list bool) := filter (fun e => say e =? c) (bwords E).
(** Both letters occur in the class. *)
Definition open (c a : nat) : bool := existsb (bit a) (class c) && existsb (fun e => negb (bit a e)) (class c).
Definition opens (c : nat) : list nat := filter (open c) (seq 0 E).

Lemma free_open e a : In e (bwords E) -> free a e = open (say e) a.
Proof.
  intros He. unfold free, open, class. apply eq_true_iff_eq. rewrite andb_true_iff, !existsb_exists.
  assert (In e (filter (fun e' => say e' =? say e) (bwords E))) by (apply filter_In; rewrite Nat.eqb_refl; auto).
  split.
  - intros [e' [He' H']]. apply andb_true_iff in H'. destruct H' as [H1 H2].
    assert (In e' (filter (fun e' => say e' =? say e) (bwords E))) by (apply filter_In; auto).
    destruct (bit a e) eqn:Ea, (bit a e') eqn:Ea'; try discriminate; split; [exists e|exists e'|exists e'|exists e];
      rewrite ?Ea, ?Ea'; auto.
  - intros [[x [Hx Bx]] [y [Hy By]]]. apply filter_In in Hx, Hy. destruct (bit a e) eqn:Ea.
    + exists y. rewrite (proj2 Hy). destruct (bit a y); [discriminate|]. tauto.
    + exists x. rewrite (proj2 Hx), Bx. tauto.
Qed.
(** A class has no more members than words at its open places. *)
Lemma class_small c : length (class c) <= 2 ^ length (opens c).
Proof.
  rewrite <- bwords_length. apply (pigeon (fun e => map (fun a => bit a e) (opens c))).
  - apply filter_NoDup, bwords_NoDup.
  - intros e _. apply in_bwords, map_length.
  - intros e e' He He' Eq. pose proof He as Le. pose proof He' as Le'. apply filter_In in Le, Le'.
    destruct Le as [Le _], Le' as [Le' _]. apply in_bwords in Le, Le'.
    apply (nth_ext_on false e e' E Le Le'). intros a Ha. change (bit a e = bit a e').
    destruct (open c a) eqn:O; [apply (ext_in_map Eq), filter_In; split; [apply in_seq; lia|exact O]|].
    unfold open in O. apply andb_false_iff in O.
    assert (G : forall p, existsb p (class c) = false -> p e = false /\ p e' = false).
    { intros p Hp. split; [destruct (p e) eqn:P|destruct (p e') eqn:P]; auto; exfalso;
        (assert (existsb p (class c) = true); [apply existsb_exists; eauto|congruence]). }
    destruct O as [O|O]; apply G in O; destruct O as [O1 O2]; [congruence|].
    apply negb_false_iff in O1, O2. congruence.
Qed.
(** c log c is convex: from c <= 2^f, without logarithms. *)
Lemma tangent c f g : c <= 2 ^ f -> c * (g + 1) <= c * f + 2 ^ g.
Proof.
  intros H. destruct (le_lt_dec (g + 1) f) as [G|G]; [assert (c * (g + 1) <= c * f) by (apply Nat.mul_le_mono_l; lia); lia|].
  assert (P : c * 2 ^ (g - f) <= 2 ^ g).
  { transitivity (2 ^ f * 2 ^ (g - f)); [apply Nat.mul_le_mono_r, H|]. rewrite <- Nat.pow_add_r. apply Nat.pow_le_mono_r; lia. }
  pose proof (Nat.pow_gt_lin_r 2 (g - f) ltac:(lia)) as Q.
  assert (c * (g - f + 1) <= c * 2 ^ (g - f)) by (apply Nat.mul_le_mono_l; lia). nia.
Qed.
Lemma classes_count : lsum (fun c => length (class c)) (seq 0 (2 ^ d)) = 2 ^ E.
Proof.
  transitivity (lsum (fun c => lsum (fun e => if say e =? c then 1 else 0) (bwords E)) (seq 0 (2 ^ d))).
  { apply lsum_ext. intros c _. symmetry. apply lsum_filter. }
  rewrite lsum_swap. transitivity (lsum (fun _ : list bool => 1) (bwords E)); [|rewrite lsum_const, bwords_length; lia].
  apply lsum_ext. intros e _. pose proof (Hsay e) as H. revert H. generalize (say e), (2 ^ d). clear.
  intros x n H. rewrite lsum_filter. assert (G : forall k j, j <= x < j + k -> length (filter (Nat.eqb x) (seq j k)) = 1).
  { induction k as [|k IH]; intros j Hj; [lia|]. cbn [seq filter]. destruct (Nat.eqb_spec x j) as [->|N].
    - cbn [length]. f_equal. clear. assert (Z : forall k i, j < i -> filter (Nat.eqb j) (seq i k) = []).
      { induction k0 as [|k0 IH]; intros i Hi; [reflexivity|]. cbn [seq filter].
        destruct (Nat.eqb_spec j i); [lia|]. apply IH. lia. }
      rewrite Z by lia. reflexivity.
    - apply IH. lia. }
  apply G. lia.
Qed.
Lemma free_many : (E - d) * 2 ^ E <= lsum (fun e => length (filter (fun a => free a e) (seq 0 E))) (bwords E).
Proof.
  set (g := E - d).
  assert (S1 : lsum (fun e => length (filter (fun a => free a e) (seq 0 E))) (bwords E)
             = lsum (fun c => length (class c) * length (opens c)) (seq 0 (2 ^ d))).
  { transitivity (lsum (fun e => lsum (fun c => if say e =? c then length (opens c) else 0) (seq 0 (2 ^ d))) (bwords E)).
    - apply lsum_ext. intros e He. transitivity (length (opens (say e))).
      { unfold opens. f_equal. apply filter_ext. intros a. apply free_open, He. }
      pose proof (Hsay e) as H. revert H. generalize (say e), (2 ^ d). clear. intros x n H.
      assert (G : forall k j, lsum (fun c => if x =? c then length (opens c) else 0) (seq j k)
                            = if (j <=? x) && (x <? j + k) then length (opens x) else 0).
      { induction k as [|k IH]; intros j.
        - unfold lsum. simpl. destruct (Nat.leb_spec j x), (Nat.ltb_spec x (j + 0)); simpl; lia.
        - cbn [seq]. rewrite lsum_cons, IH.
          destruct (Nat.eqb_spec x j), (Nat.leb_spec (S j) x), (Nat.ltb_spec x (S j + k)), (Nat.leb_spec j x), (Nat.ltb_spec x (j + S k));
            subst; simpl; lia. }
      rewrite G. destruct (Nat.leb_spec 0 x), (Nat.ltb_spec x (0 + n)); simpl; lia.
    - rewrite lsum_swap. apply lsum_ext. intros c _. unfold class. rewrite <- lsum_filter, Nat.mul_comm, <- lsum_mul.
      apply lsum_ext. intros e _. destruct (say e =? c); lia. }
  rewrite S1. assert (S2 : lsum (fun c => length (class c) * (g + 1)) (seq 0 (2 ^ d))
    <= lsum (fun c => length (class c) * length (opens c) + 2 ^ g) (seq 0 (2 ^ d))).
  { apply lsum_le. intros c _. apply tangent, class_small. }
  rewrite lsum_add, lsum_const, seq_length in S2.
  rewrite (lsum_ext (fun c => length (class c) * (g + 1)) (fun c => (g + 1) * length (class c))), lsum_mul, classes_count in S2
    by (intros; lia).
  assert (2 ^ d * 2 ^ g = 2 ^ E) by (rewrite <- Nat.pow_add_r; f_equal; unfold g; lia). lia.
Qed.
End Cube.

(** ** All cubes over an alphabet of b letters *)
Fixpoint set_at (a v : nat) (c : list nat) : list nat :=
  match c, a with [], _ => [] | _ :: c, 0 => v :: c | x :: c, S a => x :: set_at a v c end.
Lemma set_at_length a v c : length (set_at a v c) = length c.
Proof. revert a. induction c as [|x c IH]; intros [|a]; simpl; auto. Qed.
Lemma set_at_here a v c : a < length c -> nth a (set_at a v c) 0 = v.
Proof. revert a. induction c as [|x c IH]; intros [|a] H; simpl in *; try lia; auto. apply IH. lia. Qed.
Lemma set_at_else a v c i : i <> a -> nth i (set_at a v c) 0 = nth i c 0.
Proof. revert a i. induction c as [|x c IH]; intros [|a] [|i] H; simpl in *; try lia; auto. Qed.
Lemma set_at_set a v v' c : set_at a v (set_at a v' c) = set_at a v c.
Proof. revert a. induction c as [|x c IH]; intros [|a]; simpl; auto. rewrite IH. reflexivity. Qed.
Lemma set_at_same a c : set_at a (nth a c 0) c = c.
Proof. revert a. induction c as [|x c IH]; intros [|a]; simpl; auto. rewrite IH. reflexivity. Qed.
Lemma set_at_word a v c E b : v < b -> In c (nwords E b) -> In (set_at a v c) (nwords E b).
Proof.
  intros Hv H. apply in_nwords in H. destruct H as [L F]. apply in_nwords. rewrite set_at_length. split; [exact L|].
  clear L. revert a. induction F as [|x c Hx F IH]; intros [|a]; simpl; constructor; auto.
Qed.

Fixpoint mixed (e : list bool) (c0 c1 : list nat) : list nat :=
  match e, c0, c1 with x :: e, a :: c0, b :: c1 => (if x then b else a) :: mixed e c0 c1 | _, _, _ => [] end.
Lemma mixed_word e : forall c0 c1 b, In c0 (nwords (length e) b) -> In c1 (nwords (length e) b) ->
  In (mixed e c0 c1) (nwords (length e) b).
Proof.
  induction e as [|x e IH]; intros c0 c1 b H0 H1; [left; reflexivity|].
  apply in_nwords in H0, H1. destruct H0 as [L0 F0], H1 as [L1 F1].
  destruct c0 as [|a0 c0], c1 as [|a1 c1]; try discriminate. inversion F0; inversion F1; subst. simpl in L0, L1.
  assert (G : In (mixed e c0 c1) (nwords (length e) b)) by (apply IH; apply in_nwords; split; auto; lia).
  apply in_nwords in G. destruct G as [G1 G2]. apply in_nwords. simpl. split; [lia|].
  constructor; [destruct x; assumption|exact G2].
Qed.
Lemma mixed_nth e : forall c0 c1 a, length c0 = length e -> length c1 = length e -> a < length e ->
  nth a (mixed e c0 c1) 0 = if nth a e false then nth a c1 0 else nth a c0 0.
Proof.
  induction e as [|x e IH]; intros [|a0 c0] [|a1 c1] a L0 L1 H; simpl in *; try lia.
  destruct a as [|a]; [reflexivity|]. apply IH; lia.
Qed.
(** A letter that is not chosen does not matter. *)
Lemma mixed_set e : forall c0 c1 a v, mixed e (if nth a e false then set_at a v c0 else c0) (if nth a e false then c1 else set_at a v c1) = mixed e c0 c1.
Proof.
  induction e as [|x e IH]; intros c0 c1 a v; [destruct a; reflexivity|]. destruct a as [|a]; simpl.
  - destruct x, c0 as [|a0 c0], c1 as [|a1 c1]; reflexivity.
  - specialize (IH (tl c0) (tl c1) a v). destruct (nth a e false); destruct c0 as [|a0 c0], c1 as [|a1 c1]; simpl in *; try reflexivity; rewrite IH; reflexivity.
Qed.

Lemma set_mixed e : forall c0 c1 a v u, set_at a u (mixed e (set_at a v c0) c1) = set_at a u (mixed e c0 c1) /\
  set_at a u (mixed e c0 (set_at a v c1)) = set_at a u (mixed e c0 c1).
Proof.
  induction e as [|x e IH]; intros c0 c1 a v u; [split; reflexivity|].
  destruct c0 as [|a0 c0], c1 as [|a1 c1], a as [|a]; simpl; auto. destruct (IH c0 c1 a v u) as [-> ->]. auto.
Qed.

(** A letter that is drawn anew: where what is allowed does not depend on it, all letters get their share. *)
Lemma redraw {X} b (C : list X) (get : X -> nat) (put : nat -> X -> X) (S : X -> list nat) :
  NoDup C -> (forall c, In c C -> get c < b) ->
  (forall c v, In c C -> v < b -> In (put v c) C /\ get (put v c) = v /\ S (put v c) = S c) ->
  (forall c v v', put v (put v' c) = put v c) -> (forall c, In c C -> put (get c) c = c) ->
  b * length (filter (fun c => memb (get c) (S c)) C) <= lsum (fun c => length (S c)) C.
Proof.
  intros NC Hget Hput Hpp Hpg. transitivity (length (flat_map (fun c => map (pair c) (S c)) C)).
  2: { apply Nat.eq_le_incl. clear. induction C as [|c C IH]; [reflexivity|].
       rewrite lsum_cons. simpl. rewrite app_length, map_length, IH. reflexivity. }
  rewrite Nat.mul_comm. rewrite <- (seq_length b 0) at 1. rewrite <- prod_length.
  apply (pigeon (fun p => (put (snd p) (fst p), get (fst p)))).
  - apply NoDup_prod; [apply filter_NoDup, NC|apply seq_NoDup].
  - intros [c v] H. apply in_prod_iff in H. destruct H as [Hc Hv]. apply filter_In in Hc. apply in_seq in Hv.
    destruct Hc as [Hc Hm]. apply memb_true in Hm. destruct (Hput c v Hc ltac:(lia)) as [H1 [_ H3]]. cbn [fst snd].
    apply in_flat_map. exists (put v c). split; [exact H1|]. apply in_map. rewrite H3. exact Hm.
  - intros [c v] [c' v'] H H' Eq. apply in_prod_iff in H, H'. cbn [fst snd] in *.
    destruct H as [Hc Hv], H' as [Hc' Hv']. apply filter_In in Hc, Hc'. apply in_seq in Hv, Hv'. injection Eq as E1 E2.
    destruct (Hput c v (proj1 Hc) ltac:(lia)) as [_ [G _]]. destruct (Hput c' v' (proj1 Hc') ltac:(lia)) as [_ [G' _]].
    assert (v = v') by (rewrite <- G, <- G', E1; reflexivity). subst v'. f_equal.
    rewrite <- (Hpg c (proj1 Hc)), <- (Hpg c' (proj1 Hc')), E2, <- (Hpp c _ v), <- (Hpp c' _ v), E1. reflexivity.
Qed.

Section Cubes.
Variables E b d : nat.
Hypothesis Hd : d <= E.
Let R := nwords E b.
Variable say : list nat -> nat.
Hypothesis Hsay : forall r, say r < 2 ^ d.
(** The letters that are possible at place a, if c is said and the other places are those of the cube. *)
Definition possible (a : nat) (c0 c1 : list nat) (c : nat) : list nat :=
  filter (fun v => existsb (fun e => say (set_at a v (mixed e c0 c1)) =? c) (bwords E)) (seq 0 b).
(** The most of them. *)
Definition most (a : nat) (c0 c1 : list nat) : nat := list_max (map (fun c => length (possible a c0 c1 c)) (seq 0 (2 ^ d))).
Lemma most_ge a c0 c1 r : length (possible a c0 c1 (say r)) <= most a c0 c1.
Proof.
  unfold most. pose proof (proj1 (list_max_le (map (fun c => length (possible a c0 c1 c)) (seq 0 (2 ^ d))) _) (le_n _)) as H.
  rewrite Forall_forall in H. apply H. apply (in_map (fun c => length (possible a c0 c1 c))), in_seq. specialize (Hsay r). lia.
Qed.
Lemma most_is a c0 c1 : exists c, length (possible a c0 c1 c) = most a c0 c1.
Proof.
  unfold most. assert (P : 0 < 2 ^ d) by (pose proof (Nat.pow_nonzero 2 d); lia). revert P. generalize (2 ^ d). intros n P.
  assert (G : forall l, l <> [] -> exists c, length (possible a c0 c1 c) = list_max (map (fun c => length (possible a c0 c1 c)) l)).
  { induction l as [|c l IH]; intros H; [congruence|]. destruct l as [|c' l]; [exists c; simpl; lia|].
    destruct IH as [x Hx]; [discriminate|]. cbn [map list_max fold_right] in *. fold (list_max (map (fun c => length (possible a c0 c1 c)) (c' :: l))) in *.
    destruct (le_lt_dec (length (possible a c0 c1 c)) (length (possible a c0 c1 x))); [exists x|exists c]; cbn [map list_max fold_right] in *; lia. }
  apply G. destruct n; [lia|discriminate].
Qed.

Let C := list_prod R R.
Lemma C_spec c : In c C -> In (fst c) R /\ In (snd c) R.
Proof. destruct c as [c0 c1]. apply in_prod_iff. Qed.
Lemma R_length c : In c R -> length c = E. Proof. intros H. apply in_nwords in H. tauto. Qed.
(** The letter of a cube at place a that e does not choose. *)
Definition other (a : nat) (e : list bool) (c : list nat * list nat) : nat :=
  if nth a e false then nth a (fst c) 0 else nth a (snd c) 0.
Definition put_other (a : nat) (e : list bool) (v : nat) (c : list nat * list nat) : list nat * list nat :=
  if nth a e false then (set_at a v (fst c), snd c) else (fst c, set_at a v (snd c)).
Definition said (e : list bool) (c : list nat * list nat) : nat := say (mixed e (fst c) (snd c)).
Definition allowed (a : nat) (e : list bool) (c : list nat * list nat) : list nat := possible a (fst c) (snd c) (said e c).

Lemma possible_set a c0 c1 v x : possible a (set_at a v c0) c1 x = possible a c0 c1 x /\
  possible a c0 (set_at a v c1) x = possible a c0 c1 x.
Proof.
  assert (Ext : forall (p q : list bool -> bool) l, (forall e, p e = q e) -> existsb p l = existsb q l).
  { intros p q l H. induction l as [|e l IH]; [reflexivity|]. simpl. rewrite H, IH. reflexivity. }
  split; apply filter_ext; intros u; apply Ext; intros e; [rewrite (proj1 (set_mixed e c0 c1 a v u))|rewrite (proj2 (set_mixed e c0 c1 a v u))]; reflexivity.
Qed.
Lemma allowed_put a e v c : allowed a e (put_other a e v c) = allowed a e c.
Proof.
  unfold allowed, put_other, said. pose proof (mixed_set e (fst c) (snd c) a v) as M.
  destruct (nth a e false); cbn [fst snd]; rewrite M; apply possible_set.
Qed.
Lemma other_allowed a e : a < E -> In e (bwords E) ->
  b * length (filter (fun c => memb (other a e c) (allowed a e c)) C) <= lsum (fun c => most a (fst c) (snd c)) C.
Proof.
  intros Ha He. etransitivity; [|apply lsum_le; intros c _; apply (most_ge a (fst c) (snd c) (mixed e (fst c) (snd c)))].
  apply (redraw b C (other a e) (put_other a e)).
  - apply NoDup_prod; apply nwords_NoDup.
  - intros c Hc. apply C_spec in Hc. unfold other. destruct (nth a e false); apply (nwords_nth E); tauto.
  - intros c v Hc Hv. split; [|split; [|apply allowed_put]].
    + apply C_spec in Hc. unfold put_other. destruct (nth a e false); apply in_prod; try tauto; apply set_at_word; tauto.
    + apply C_spec in Hc. unfold other, put_other.
      destruct (nth a e false); cbn [fst snd]; apply set_at_here; rewrite R_length; tauto.
  - intros c v v'. unfold put_other. destruct (nth a e false); cbn [fst snd]; rewrite set_at_set; reflexivity.
  - intros [c0 c1] _. unfold put_other, other. destruct (nth a e false); cbn [fst snd]; rewrite set_at_same; reflexivity.
Qed.
(** If a place is free, the letter that is not chosen there is possible. *)
Lemma free_allowed a e c : a < E -> In c C -> In e (bwords E) ->
  free E (fun e => said e c) a e = true -> memb (other a e c) (allowed a e c) = true.
Proof.
  intros Ha Hc He H. apply C_spec in Hc. destruct Hc as [H0 H1]. unfold free in H. apply existsb_exists in H.
  destruct H as [e' [He' H]]. apply andb_true_iff in H. destruct H as [Es Eb]. apply in_bwords in He, He'.
  assert (Eo : other a e c = nth a (mixed e' (fst c) (snd c)) 0).
  { rewrite mixed_nth by (rewrite ?R_length by assumption; lia). unfold other, bit in *.
    destruct (nth a e false), (nth a e' false); try discriminate; reflexivity. }
  apply memb_true, filter_In. split.
  - apply in_seq. unfold other. destruct (nth a e false); (split; [lia|apply (nwords_nth E); assumption]).
  - apply existsb_exists. exists e'. split; [apply in_bwords, He'|]. rewrite Eo, set_at_same. exact Es.
Qed.
Lemma possible_many : b * ((E - d) * length C) <= lsum (fun a => lsum (fun c => most a (fst c) (snd c)) C) (seq 0 E).
Proof.
  set (hit := fun a e c => if memb (other a e c) (allowed a e c) then 1 else 0).
  assert (S1 : (E - d) * 2 ^ E * length C <= lsum (fun c => lsum (fun e => lsum (fun a => hit a e c) (seq 0 E)) (bwords E)) C).
  { rewrite Nat.mul_comm, <- lsum_const. apply lsum_le. intros c Hc.
    etransitivity; [apply (free_many E d Hd (fun e => said e c)); intros; apply Hsay|]. apply lsum_le. intros e He.
    rewrite <- lsum_filter. apply lsum_le. intros a Ha. apply in_seq in Ha. unfold hit.
    destruct (free E _ a e) eqn:Fr; [rewrite (free_allowed a e c) by (auto; lia); lia|lia]. }
  assert (S2 : b * lsum (fun c => lsum (fun e => lsum (fun a => hit a e c) (seq 0 E)) (bwords E)) C
    <= 2 ^ E * lsum (fun a => lsum (fun c => most a (fst c) (snd c)) C) (seq 0 E)).
  { rewrite lsum_swap, <- lsum_mul, <- bwords_length, <- lsum_const. apply lsum_le. intros e He.
    rewrite lsum_swap, <- lsum_mul. apply lsum_le. intros a Ha. apply in_seq in Ha. unfold hit. rewrite lsum_filter.
    apply other_allowed; [lia|exact He]. }
  assert (P : 0 < 2 ^ E) by (pose proof (Nat.pow_nonzero 2 E); lia).
  apply (Nat.mul_le_mono_pos_l _ _ (2 ^ E) P). etransitivity; [|exact S2].
  transitivity (b * ((E - d) * 2 ^ E * length C)); [apply Nat.eq_le_incl; ring|]. apply Nat.mul_le_mono_l, S1.
Qed.
End Cubes.

(** ** For many w together: one place and one cube at the others. *)
Theorem cube_for_all n1 E b d (say : nat -> list nat -> nat) : d <= E -> 0 < E -> 0 < b -> (forall w r, say w r < 2 ^ d) ->
  exists a c0 c1 (c : nat -> nat), a < E /\ In c0 (nwords E b) /\ In c1 (nwords E b) /\
    n1 * (b * (E - d)) <= E * lsum (fun w => length (possible E b (say w) a c0 c1 (c w))) (seq 0 n1).
Proof.
  intros Hd HE Hb Hsay. set (C := list_prod (nwords E b) (nwords E b)).
  set (sum := fun p : nat * (list nat * list nat) => lsum (fun w => most E b d (say w) (fst p) (fst (snd p)) (snd (snd p))) (seq 0 n1)).
  assert (PC : 0 < length C).
  { unfold C. rewrite prod_length, nwords_length. pose proof (Nat.pow_nonzero b E). nia. }
  assert (S : n1 * (b * ((E - d) * length C)) <= lsum sum (list_prod (seq 0 E) C)).
  { assert (Flat : forall g : nat * (list nat * list nat) -> nat,
      lsum g (list_prod (seq 0 E) C) = lsum (fun a => lsum (fun c => g (a, c)) C) (seq 0 E)).
    { intros g. clear. induction (seq 0 E) as [|a l IH]; [reflexivity|]. rewrite lsum_cons, <- IH. simpl.
      unfold lsum. rewrite map_app, list_sum_app, map_map. reflexivity. }
    unfold sum. rewrite <- lsum_swap. rewrite <- (seq_length n1 0) at 1. rewrite <- lsum_const. apply lsum_le. intros w _.
    rewrite Flat. apply (possible_many E b d Hd (say w) (Hsay w)). }
  destruct (exists_ge (fun p => E * sum p) (n1 * (b * (E - d))) (list_prod (seq 0 E) C)) as [[a [c0 c1]] [Hp G]].
  { rewrite prod_length, seq_length. nia. }
  { rewrite lsum_mul, prod_length, seq_length. rewrite <- Nat.mul_assoc. apply Nat.mul_le_mono_l.
    etransitivity; [|exact S]. apply Nat.eq_le_incl. ring. }
  apply in_prod_iff in Hp. destruct Hp as [Ha Hc]. apply in_seq in Ha. apply in_prod_iff in Hc.
  destruct (finite_choice (fun w c => length (possible E b (say w) a c0 c1 c) = most E b d (say w) a c0 c1) 0 n1) as [c Hmost].
  { intros w _. apply (most_is E b d Hd (say w)). }
  exists a, c0, c1, c. repeat (split; [tauto || lia|]). etransitivity; [exact G|]. apply Nat.mul_le_mono_l.
  apply lsum_le. intros w Hw. apply in_seq in Hw. rewrite Hmost by lia. apply le_n.
Qed.

(** ** What a cube is good for: the letters at place a that are possible come from words whose other letters are two
    at each place; all pairs of place and letter together are 2 (E - 1) + b. *)
Definition spots (E b a : nat) (c0 c1 : list nat) : list (nat * nat) :=
  flat_map (fun i => if i =? a then map (pair i) (seq 0 b) else [(i, nth i c0 0); (i, nth i c1 0)]) (seq 0 E).
Lemma spots_length E b a c0 c1 : a < E -> length (spots E b a c0 c1) = 2 * (E - 1) + b.
Proof.
  intros Ha.
  assert (G : forall k j, length (flat_map (fun i => if i =? a then map (pair i) (seq 0 b) else [(i, nth i c0 0); (i, nth i c1 0)]) (seq j k))
    = if (j <=? a) && (a <? j + k) then 2 * (k - 1) + b else 2 * k).
  { induction k as [|k IH]; intros j.
    - simpl. destruct (Nat.leb_spec j a), (Nat.ltb_spec a (j + 0)); simpl; lia.
    - cbn [seq flat_map]. rewrite app_length, IH.
      destruct (Nat.eqb_spec j a), (Nat.leb_spec (S j) a), (Nat.ltb_spec a (S j + k)), (Nat.leb_spec j a), (Nat.ltb_spec a (j + S k));
        rewrite ?map_length, ?seq_length; simpl; lia. }
  unfold spots. rewrite G. destruct (Nat.leb_spec 0 a), (Nat.ltb_spec a (0 + E)); simpl; lia.
Qed.
Lemma possible_word E b say a c0 c1 c v : a < E -> In c0 (nwords E b) -> In c1 (nwords E b) ->
  In v (possible E b say a c0 c1 c) -> v < b /\ exists r, In r (nwords E b) /\ say r = c /\ nth a r 0 = v /\
    forall i, i < E -> In (i, nth i r 0) (spots E b a c0 c1).
Proof.
  intros Ha H0 H1 H. apply filter_In in H. destruct H as [Hv H]. apply in_seq in Hv. split; [lia|]. apply existsb_exists in H.
  destruct H as [e [He H]]. apply in_bwords in He. apply Nat.eqb_eq in H.
  assert (L0 : length c0 = E) by (apply in_nwords in H0; tauto). assert (L1 : length c1 = E) by (apply in_nwords in H1; tauto).
  assert (M : In (mixed e c0 c1) (nwords E b)) by (rewrite <- He; apply mixed_word; rewrite He; assumption).
  assert (Here : nth a (set_at a v (mixed e c0 c1)) 0 = v) by (apply set_at_here; apply in_nwords in M; lia).
  exists (set_at a v (mixed e c0 c1)). split; [apply set_at_word; [lia|exact M]|]. split; [exact H|]. split; [exact Here|].
  intros i Hi. apply in_flat_map. exists i. split; [apply in_seq; lia|]. destruct (Nat.eqb_spec i a) as [->|N].
  - apply in_map, in_seq. rewrite Here. lia.
  - rewrite set_at_else, mixed_nth by lia. destruct (nth i e false); simpl; auto.
Qed.
