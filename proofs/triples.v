(** Match3 by one full layer: do three of n numbers below m make a sum of 0, wherever they stand?  The last number is
    always the same, 2K with K = (m - 1) / 4.  Numbers of one player are at most K, the other one has
    m - 2K - a, which makes a triple with 2K and a, and none else. *)
From Coq Require Import List Arith Lia Bool PeanoNat NArith.
Import ListNotations.
From Limen Require Import counting powers streaming_state rows families one_layer_numbers.

Fixpoint has_triple (m : nat) (xs : list nat) : bool :=
  match xs with [] => false | x :: xs => has_pair m x xs || has_triple m xs end.
Definition quarter (m : nat) : nat := (m - 1) / 4.
Definition matches_by {Tok} (ans : list Tok -> bool) (n m : nat) : Prop :=
  exists number last, forall xs, S (length xs) = n -> Forall (fun x => x < m) xs ->
    ans (wrv number 0 (xs ++ [2 * quarter m]) ++ last) = has_triple m (xs ++ [2 * quarter m]).

Section Sums.
Variables m K a : nat.
Hypothesis Hm : 4 * K <= m - 1.
Hypothesis Ha : 0 < a <= K.
Let b := m - 2 * K - a.
Let q := 2 * K.
Lemma not_zero s : 0 < s < m -> (s mod m =? 0) = false.
Proof. intros H. rewrite Nat.mod_small by lia. apply Nat.eqb_neq. lia. Qed.
Lemma pair_with x ys : 0 < x <= K -> (forall y, In y ys -> 0 < y <= K) ->
  has_pair m x (ys ++ [b; q]) = (x =? a).
Proof.
  intros Hx. induction ys as [|y ys IH]; intros Hy.
  - cbn [app has_pair existsb]. rewrite !orb_false_r. unfold b, q. destruct (Nat.eqb_spec x a) as [->|N].
    + replace (m - 2 * K - a + 2 * K + a) with (1 * m) by lia. rewrite Nat.mod_mul by lia. reflexivity.
    + apply Nat.eqb_neq. destruct (le_lt_dec a x) as [G|G].
      * replace (m - 2 * K - a + 2 * K + x) with ((x - a) + 1 * m) by lia.
        rewrite Nat.mod_add, Nat.mod_small by lia. lia.
      * rewrite Nat.mod_small by lia. lia.
  - cbn [app has_pair]. rewrite IH by (intros; apply Hy; right; assumption).
    replace (existsb _ _) with false; [reflexivity|]. symmetry. apply not_true_is_false. intros E.
    apply existsb_exists in E. destruct E as [z [Hz E]]. specialize (Hy y (or_introl eq_refl)) as Y.
    assert (B : 0 < y + z + x < m).
    { apply in_app_iff in Hz. destruct Hz as [Hz|[<-|[<-|[]]]].
      - specialize (Hy z (or_intror Hz)). lia.
      - unfold b. lia.
      - unfold q. lia. }
    rewrite (not_zero _ B) in E. discriminate.
Qed.
Lemma triple_iff xs : (forall x, In x xs -> 0 < x <= K) ->
  has_triple m (xs ++ [b; q]) = existsb (fun x => x =? a) xs.
Proof.
  induction xs as [|x xs IH]; intros H; [reflexivity|]. cbn [app has_triple existsb].
  rewrite IH by (intros; apply H; right; assumption). f_equal.
  apply pair_with; [apply H; left; reflexivity|intros; apply H; right; assumption].
Qed.
End Sums.

(** t numbers from V of their own each, all others 1. *)
Lemma match3_family {Tok} (ans : list Tok -> bool) n m t : 0 < t -> t + 2 <= n -> matches_by ans n m ->
  exists r, 0 < r /\ family ans t r (((quarter m - 1) / t) ^ t).
Proof.
  intros Ht Hn [number [last C]]. set (K := quarter m) in *. set (V := (K - 1) / t).
  assert (Hm : 4 * K <= m - 1) by (unfold K, quarter; apply Nat.mul_div_le; lia).
  assert (HV : t * V <= K - 1) by (apply Nat.mul_div_le; lia).
  set (pad := repeat 1 (n - 2 - t)). set (up := map S). exists (n - t + length last). split; [lia|].
  rewrite <- nwords_length.
  assert (L : forall f, In f (nwords t V) -> length (up (spread V 0 f)) = t).
  { intros f Hf. apply in_nwords in Hf. unfold up. rewrite map_length, spread_length. tauto. }
  assert (B : 0 < V -> forall f, In f (nwords t V) -> forall x, In x (up (spread V 0 f) ++ pad) -> 0 < x <= K).
  { intros PV f Hf x Hx. apply in_nwords in Hf. apply in_app_iff in Hx. destruct Hx as [Hx|Hx].
    - apply in_map_iff in Hx. destruct Hx as [z [<- Hz]].
      pose proof (spread_below V f (proj2 Hf) 0 K ltac:(nia)) as F. rewrite Forall_forall in F. specialize (F z Hz). lia.
    - apply repeat_spec in Hx. nia. }
  set (yours := fun p : nat * nat => m - 2 * K - (2 + fst p * V + snd p)).
  apply (by_truth ans t _ (nwords t V) (list_prod (seq 0 t) (seq 0 V)) (fun f => wrv number 0 (up (spread V 0 f)))
           (fun p => wrv number t (pad ++ [yours p; 2 * K]) ++ last)
           (fun f p => nth (fst p) f 0 =? snd p) (nwords_NoDup t V)).
  - intros f Hf. rewrite wrv_len. apply L, Hf.
  - intros p _. rewrite app_length, wrv_len, app_length. unfold pad. rewrite repeat_length. simpl. lia.
  - intros f [i v] Hf Hp. apply in_prod_iff in Hp. rewrite !in_seq in Hp. unfold yours. cbn [fst snd].
    set (a := 2 + i * V + v). assert (Hy : 0 < a <= K) by (unfold a; nia). specialize (B ltac:(lia) f Hf). rewrite app_assoc.
    replace (wrv number 0 (up (spread V 0 f)) ++ wrv number t (pad ++ [m - 2 * K - a; 2 * K]))
      with (wrv number 0 ((up (spread V 0 f) ++ pad ++ [m - 2 * K - a]) ++ [2 * K]))
      by (rewrite <- !app_assoc; cbn [app]; rewrite wrv_split, (L f Hf); reflexivity).
    rewrite C.
    + rewrite app_assoc, <- app_assoc. cbn [app]. rewrite (triple_iff m K a Hm Hy _ B), existsb_app.
      replace (existsb _ pad) with false.
      * rewrite orb_false_r. apply in_nwords in Hf. destruct Hf as [Lf Ff].
        pose proof (spread_found V f Ff 0 i v ltac:(lia) ltac:(lia)) as E. rewrite Nat.sub_0_r in E. rewrite <- E.
        unfold a. generalize (spread V 0 f). clear. unfold up. induction l as [|z l IH]; [reflexivity|]. cbn [map existsb].
        rewrite IH. reflexivity.
      * symmetry. unfold pad, a. clear. induction (n - 2 - t) as [|k IH]; [reflexivity|]. exact IH.
    + unfold pad. rewrite !app_length, (L f Hf), repeat_length. simpl. lia.
    + rewrite app_assoc. apply Forall_app. split; [|repeat constructor; lia]. apply Forall_forall. intros x Hx.
      specialize (B x Hx). lia.
  - intros f g. apply words_differ.
Qed.

Definition layer_matches (M : one_layer bool) (n m : nat) : Prop := matches_by (answers M) n m.
Theorem match3_layer (M : one_layer bool) n m t w : 0 < t -> t + 2 <= n -> sum_bits M t w -> layer_matches M n m ->
  ((quarter m - 1) / t) ^ t <= 2 ^ w.
Proof. intros Ht Hn HM C. destruct (match3_family _ n m t Ht Hn C) as [r [_ Fm]]. exact (layer_family M _ _ _ _ HM Fm). Qed.

(** ** At numbers *)
Local Open Scope N_scope.
Definition chk_match_layer (w n m t a b : N) : bool :=
  (0 <? t) && (t + 2 <=? n) && power_exceeds w t (((m - 1) / 4 - 1) / t) a b.
Theorem cannot_match_one_layer w n m t a b : chk_match_layer w n m t a b = true ->
  forall M, sum_bits M (N.to_nat t) (N.to_nat w) -> ~ layer_matches M (N.to_nat n) (N.to_nat m).
Proof.
  unfold chk_match_layer. rewrite !andb_true_iff, N.ltb_lt, N.leb_le. intros [[H0 H1] H2] M HM C.
  apply power_exceeds_sound in H2. apply to_nat_lt in H0. apply to_nat_le in H1. rewrite N2Nat.inj_add in H1. divided_in H2.
  change (N.to_nat 1) with 1%nat in *. change (N.to_nat 2) with 2%nat in H1. change (N.to_nat 4) with 4%nat in H2.
  pose proof (match3_layer M _ _ _ _ H0 H1 HM C) as E. unfold quarter in E. lia.
Qed.

(** ** The example of the task *)
Example three_of_them : has_triple 13 [3; 5; 1; 9]%nat = true /\ has_triple 13 [3; 5; 1; 8]%nat = false.
Proof. split; reflexivity. Qed.
