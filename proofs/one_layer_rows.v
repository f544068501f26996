(** One full layer whose last token is always the same, on brackets, counting, 3-Sum and sparse averages: words
    that one player may hold, each of which some question of the other tells apart. *)
From Coq Require Import List Arith Lia Bool PeanoNat NArith Permutation Sorted.
Import ListNotations.
From Limen Require Import counting powers streaming_state rows one_layer_numbers.

(** ** Brackets: [(true, a)] opens one of kind a, [(false, a)] closes it; never more than D are open. *)
Fixpoint closed (D : nat) (open : list nat) (xs : list (bool * nat)) : bool :=
  match xs with
  | [] => match open with [] => true | _ => false end
  | (true, a) :: xs => (length open <? D) && closed D (a :: open) xs
  | (false, a) :: xs => match open with b :: open => (a =? b) && closed D open xs | [] => false end
  end.
Fixpoint wrb {Tok} (tok : nat -> bool * nat -> Tok) (i : nat) (xs : list (bool * nat)) : list Tok :=
  match xs with [] => [] | x :: xs => tok i x :: wrb tok (S i) xs end.
(** n brackets of k kinds, of which the last closes kind 0. *)
Definition layer_closes (M : one_layer bool) (n k D : nat) : Prop :=
  exists tok last, forall xs, S (length xs) = n -> Forall (fun x => snd x < k) xs ->
    answers M (wrb tok 0 (xs ++ [(false, 0)]) ++ last) = closed D [] (xs ++ [(false, 0)]).

(** open a_1, close b_1, open a_2, ...: are all the same? *)
Fixpoint woven (f g : list nat) : list (bool * nat) :=
  match f, g with a :: f, b :: g => (true, a) :: (false, b) :: woven f g | _, _ => [] end.
Fixpoint same (f g : list nat) : bool := match f, g with a :: f, b :: g => (b =? a) && same f g | _, _ => true end.
Lemma woven_closed D f : 0 < D -> forall g xs, length f = length g ->
  closed D [] (woven f g ++ xs) = same f g && closed D [] xs.
Proof.
  intros HD. induction f as [|a f IH]; intros [|b g] xs L; try discriminate; [reflexivity|]. cbn [woven app closed length same].
  replace (0 <? D) with true by (symmetry; apply Nat.ltb_lt, HD). rewrite IH by (simpl in L; lia). cbn [andb]. apply andb_assoc.
Qed.
Lemma same_refl f : same f f = true.
Proof. induction f; simpl; [reflexivity|]. rewrite Nat.eqb_refl. assumption. Qed.
Lemma same_eq f : forall g, length f = length g -> same f g = true -> f = g.
Proof.
  induction f as [|a f IH]; intros [|b g] L E; try discriminate; [reflexivity|]. simpl in *. apply andb_true_iff in E.
  destruct E as [E1 E2]. apply Nat.eqb_eq in E1. f_equal; [auto|apply IH; [lia|assumption]].
Qed.
Lemma woven_length f : forall g, length f = length g -> length (woven f g) = 2 * length f.
Proof. induction f as [|a f IH]; intros [|b g] L; try discriminate; [reflexivity|]. cbn [woven length] in *. rewrite IH by lia. lia. Qed.
Lemma woven_kinds k f : Forall (fun a => a < k) f -> forall g, Forall (fun a => a < k) g -> Forall (fun x => snd x < k) (woven f g).
Proof. induction 1; intros g [|b g' Hb Hg]; cbn [woven]; repeat constructor; auto. Qed.
(** Whose tokens are whose. *)
Fixpoint at_even {Tok} (tok : nat -> bool * nat -> Tok) (b : bool) (i : nat) (f : list nat) : list Tok :=
  match f with [] => [] | a :: f => tok i (b, a) :: at_even tok b (S (S i)) f end.
Lemma at_even_length {Tok} (tok : nat -> bool * nat -> Tok) b f : forall i, length (at_even tok b i f) = length f.
Proof. induction f; intros i; simpl; auto. Qed.
Lemma woven_permutation {Tok} (tok : nat -> bool * nat -> Tok) f : forall g i, length f = length g ->
  Permutation (wrb tok i (woven f g)) (at_even tok true i f ++ at_even tok false (S i) g).
Proof.
  induction f as [|a f IH]; intros [|b g] i L; try discriminate; [constructor|]. cbn [woven wrb at_even app].
  apply perm_skip. etransitivity; [|apply Permutation_middle]. apply perm_skip, IH. simpl in L. lia.
Qed.
Lemma wrb_app {Tok} (tok : nat -> bool * nat -> Tok) xs ys : forall i, wrb tok i (xs ++ ys) = wrb tok i xs ++ wrb tok (i + length xs) ys.
Proof. induction xs as [|x xs IH]; intros i; simpl; [rewrite Nat.add_0_r; reflexivity|]. rewrite IH. do 3 f_equal. lia. Qed.

Theorem bracket_layer (M : one_layer bool) h k D w : 0 < D -> 0 < k -> sum_bits M h w ->
  layer_closes M (2 * S h) k D -> k ^ h <= 2 ^ w.
Proof.
  intros HD Hk HM [tok [last C]]. rewrite <- nwords_length. set (tl := wrb tok (2 * h) [(true, 0); (false, 0)] ++ last).
  apply (layer_rows M h w (nwords h k) (nwords h k) (at_even tok true 0) (fun g => at_even tok false 1 g ++ tl)
           (fun f g => wrb tok 0 (woven f g) ++ tl) same HM (nwords_NoDup h k)).
  - intros f Hf. apply in_nwords in Hf. rewrite at_even_length. tauto.
  - intros f g Hf Hg. apply in_nwords in Hf, Hg. rewrite app_assoc. apply Permutation_app_tail, woven_permutation. destruct Hf, Hg. congruence.
  - intros f g Hf Hg. apply in_nwords in Hf, Hg. destruct Hf as [Lf Ff], Hg as [Lg Fg]. assert (L : length f = length g) by congruence.
    replace (wrb tok 0 (woven f g) ++ tl) with (wrb tok 0 ((woven f g ++ [(true, 0)]) ++ [(false, 0)]) ++ last).
    + rewrite C.
      * rewrite <- app_assoc, woven_closed by assumption. cbn [app closed length]. replace (0 <? D) with true by (symmetry; apply Nat.ltb_lt, HD).
        cbn. apply andb_true_r.
      * rewrite app_length, woven_length by assumption. simpl. lia.
      * apply Forall_app. split; [apply woven_kinds; assumption|repeat constructor; assumption].
    + unfold tl. rewrite <- app_assoc, wrb_app, woven_length, Lf by assumption. rewrite <- app_assoc. reflexivity.
  - intros f g Hf Hg E. pose proof (E f Hf) as G. rewrite same_refl in G. symmetry in G. apply in_nwords in Hf, Hg.
    symmetry. apply same_eq; [destruct Hf, Hg; congruence|exact G].
Qed.

(** ** Counting, where the threshold, which stands last, is 1: does the symbol occur? *)
Definition layer_counts (M : one_layer bool) (n S : nat) : Prop :=
  exists symbol asked last, forall xs a, length xs = n -> Forall (fun x => x < S) xs -> a < S ->
    answers M (wrv symbol 0 xs ++ asked a :: last) = (1 <=? count_occ Nat.eq_dec xs a).
Lemma occurs a xs : (1 <=? count_occ Nat.eq_dec xs a) = existsb (fun x => x =? a) xs.
Proof.
  destruct (existsb (fun x => x =? a) xs) eqn:E.
  - apply existsb_exists in E. destruct E as [x [Hx E]]. apply Nat.eqb_eq in E. subst x.
    apply Nat.leb_le. apply (count_occ_In Nat.eq_dec) in Hx. lia.
  - apply Nat.leb_gt. rewrite (proj1 (count_occ_not_In Nat.eq_dec xs a)); [lia|]. intros Hx.
    assert (existsb (fun x => x =? a) xs = true); [|congruence]. apply existsb_exists. exists a. rewrite Nat.eqb_refl. auto.
Qed.
Lemma words_differ t V f g : In f (nwords t V) -> In g (nwords t V) ->
  (forall p, In p (list_prod (seq 0 t) (seq 0 V)) -> (nth (fst p) f 0 =? snd p) = (nth (fst p) g 0 =? snd p)) -> f = g.
Proof.
  intros Hf Hg E. pose proof (nwords_nth t V f) as B. specialize (fun i => B i Hf). apply in_nwords in Hf, Hg.
  apply (nth_ext_on 0 f g t); [tauto|tauto|]. intros i Hi. specialize (E (i, nth i f 0)). cbn [fst snd] in E.
  rewrite Nat.eqb_refl in E. symmetry. apply Nat.eqb_eq. symmetry. apply E, in_prod; apply in_seq; [lia|]. specialize (B i Hi). lia.
Qed.
Theorem counting_layer (M : one_layer bool) n S t w : 0 < t -> t <= n -> sum_bits M t w -> layer_counts M n S ->
  ((S - 1) / t) ^ t <= 2 ^ w.
Proof.
  intros Ht Hn HM [symbol [asked [last C]]]. set (V := (S - 1) / t). assert (HV : t * V <= S - 1) by (apply Nat.mul_div_le; lia).
  destruct (le_lt_dec V 0) as [G|G]; [replace V with 0 by lia; rewrite Nat.pow_0_l by lia; lia|].
  set (pad := repeat 0 (n - t)). rewrite <- nwords_length.
  apply (layer_rows M t w (nwords t V) (list_prod (seq 0 t) (seq 0 V)) (fun f => wrv symbol 0 (spread V 0 f))
           (fun p => wrv symbol t pad ++ asked (1 + fst p * V + snd p) :: last)
           (fun f p => wrv symbol 0 (spread V 0 f ++ pad) ++ asked (1 + fst p * V + snd p) :: last)
           (fun f p => nth (fst p) f 0 =? snd p) HM (nwords_NoDup t V)).
  - intros f Hf. apply in_nwords in Hf. rewrite wrv_len, spread_length. tauto.
  - intros f p Hf _. apply in_nwords in Hf. rewrite wrv_split, spread_length, (proj1 Hf), app_assoc. apply Permutation_refl.
  - intros f [i v] Hf Hp. apply in_nwords in Hf. destruct Hf as [Lf Ff]. apply in_prod_iff in Hp. rewrite !in_seq in Hp. cbn [fst snd].
    rewrite C.
    + rewrite occurs, existsb_app, (spread_found V f Ff 0 i v) by lia. rewrite Nat.sub_0_r.
      replace (existsb _ pad) with false; [apply orb_false_r|]. symmetry. unfold pad.
      clear. induction (n - t) as [|k IH]; simpl; [reflexivity|exact IH].
    + unfold pad. rewrite app_length, spread_length, repeat_length. lia.
    + apply Forall_app. split; [apply spread_below; [exact Ff|nia]|apply Forall_repeat; nia].
    + nia.
  - intros f g. apply words_differ.
Qed.

(** ** 3-Sum, where the number that asks, the last one, is 0: do two of n numbers below m make a sum of 0? *)
Definition layer_three_sums (M : one_layer bool) (n m : nat) : Prop :=
  exists number last, forall xs, length xs = n -> Forall (fun x => x < m) xs ->
    answers M (wrv number 0 xs ++ last) = has_pair m 0 xs.
Lemma has_pair_end m xs y : has_pair m 0 (xs ++ [y]) = has_pair m 0 xs || existsb (fun x => (x + y) mod m =? 0) xs.
Proof.
  induction xs as [|x xs IH]; [reflexivity|]. cbn [app has_pair existsb]. rewrite IH, existsb_app. cbn [existsb].
  rewrite orb_false_r. rewrite (existsb_ext_in (fun y0 => (x + y0 + 0) mod m =? 0) (fun y0 => (x + y0) mod m =? 0))
    by (intros; rewrite Nat.add_0_r; reflexivity). rewrite Nat.add_0_r. 
  generalize (existsb (fun y0 => (x + y0) mod m =? 0) xs), (has_pair m 0 xs), ((x + y) mod m =? 0), (existsb (fun x0 => (x0 + y) mod m =? 0) xs).
  intros [] [] [] []; reflexivity.
Qed.
(** t of them are from V of their own each, all others 1: all of these between 1 and m/2, so that no two sum to 0. *)
Theorem three_sum_layer (M : one_layer bool) n m t w : 0 < t -> t < n -> sum_bits M t w -> layer_three_sums M n m ->
  (((m - 1) / 2 - 1) / t) ^ t <= 2 ^ w.
Proof.
  intros Ht Hn HM [number [last C]]. set (d := (m - 1) / 2). set (V := (d - 1) / t).
  assert (Hd : 2 * d <= m - 1) by (apply Nat.mul_div_le; lia). assert (HV : t * V <= d - 1) by (apply Nat.mul_div_le; lia).
  destruct (le_lt_dec V 0) as [G|G]; [replace V with 0 by lia; rewrite Nat.pow_0_l by lia; lia|].
  set (pad := repeat 1 (n - S t)). set (up := map S). rewrite <- nwords_length.
  assert (Hmine : forall f, In f (nwords t V) -> forall x, In x (up (spread V 0 f) ++ pad) -> 0 < x <= d).
  { intros f Hf x Hx. apply in_nwords in Hf. apply in_app_iff in Hx. destruct Hx as [Hx|Hx].
    - apply in_map_iff in Hx. destruct Hx as [z [<- Hz]].
      pose proof (spread_below V f (proj2 Hf) 0 d ltac:(nia)) as B. rewrite Forall_forall in B. specialize (B z Hz). lia.
    - apply repeat_spec in Hx. nia. }
  assert (L : forall f, In f (nwords t V) -> length (up (spread V 0 f)) = t).
  { intros f Hf. apply in_nwords in Hf. unfold up. rewrite map_length, spread_length. tauto. }
  set (yours := fun p : nat * nat => m - (2 + fst p * V + snd p)).
  apply (layer_rows M t w (nwords t V) (list_prod (seq 0 t) (seq 0 V)) (fun f => wrv number 0 (up (spread V 0 f)))
           (fun p => wrv number t (pad ++ [yours p]) ++ last)
           (fun f p => wrv number 0 ((up (spread V 0 f) ++ pad) ++ [yours p]) ++ last)
           (fun f p => nth (fst p) f 0 =? snd p) HM (nwords_NoDup t V)).
  - intros f Hf. rewrite wrv_len. apply L, Hf.
  - intros f p Hf _. rewrite <- app_assoc, wrv_split, (L f Hf), app_assoc. apply Permutation_refl.
  - intros f [i v] Hf Hp. apply in_prod_iff in Hp. rewrite !in_seq in Hp. unfold yours. cbn [fst snd].
    assert (Hy : 1 < 2 + i * V + v <= d) by nia. pose proof (Hmine f Hf) as B. rewrite C.
    + rewrite has_pair_end. replace (has_pair m 0 (up (spread V 0 f) ++ pad)) with false.
      * cbn [orb]. rewrite (existsb_ext_in _ (fun x => x =? 2 + i * V + v)).
        -- rewrite existsb_app. replace (existsb _ pad) with false.
           ++ rewrite orb_false_r. apply in_nwords in Hf. destruct Hf as [Lf Ff].
              pose proof (spread_found V f Ff 0 i v ltac:(lia) ltac:(lia)) as E. rewrite Nat.sub_0_r in E. rewrite <- E.
              generalize (spread V 0 f). clear. unfold up. induction l as [|z l IH]; [reflexivity|]. cbn [map existsb].
              rewrite IH. reflexivity.
           ++ symmetry. unfold pad. clear. induction (n - S t) as [|k IH]; [reflexivity|]. exact IH.
        -- intros x Hx. specialize (B x Hx). apply partner; lia.
      * symmetry. apply has_pair_none. intros x y Hx Hy'. apply B in Hx, Hy'. rewrite Nat.add_0_r, Nat.mod_small by lia. lia.
    + unfold pad. rewrite !app_length, (L f Hf), repeat_length. simpl. lia.
    + apply Forall_app. split; [|repeat constructor; lia]. apply Forall_forall. intros x Hx. specialize (B x Hx). lia.
  - intros f g. apply words_differ.
Qed.

(** ** Sparse averages of q >= 2 places in rising order, of which the last is n - 1: its token asks.  The first k bits
    vary, and of those behind them, all 0, q - 2 are asked for, too. *)
Definition layer_averages (M : one_layer nat) (n q : nat) : Prop :=
  exists bit place last, forall z ys, length z = n -> Forall (fun v => v < 2) z ->
    S (length ys) = q -> Forall (fun y => y < n - 1) ys -> StronglySorted lt ys ->
    answers M (wrv bit 0 z ++ wrv place n ys ++ last) = list_sum (map (fun y => nth y z 0) (ys ++ [n - 1])).
Theorem average_layer (M : one_layer nat) n q k w : 1 < q -> k + q <= n + 1 -> sum_bits M k w -> layer_averages M n q ->
  2 ^ k <= 2 ^ w.
Proof.
  intros Hq Hk HM [bit [place [last C]]]. rewrite <- nwords_length. set (ys := fun i => i :: seq (n - q + 1) (q - 2)).
  set (zeros := repeat 0 (n - k)).
  apply (layer_rows M k w (nwords k 2) (seq 0 k) (wrv bit 0) (fun i => wrv bit k zeros ++ wrv place n (ys i) ++ last)
           (fun f i => wrv bit 0 (f ++ zeros) ++ wrv place n (ys i) ++ last) (fun f i => nth i f 0) HM (nwords_NoDup k 2)).
  - intros f Hf. apply in_nwords in Hf. rewrite wrv_len. tauto.
  - intros f i Hf _. apply in_nwords in Hf. rewrite wrv_split, (proj1 Hf), !app_assoc. apply Permutation_refl.
  - intros f i Hf Hi. apply in_nwords in Hf. destruct Hf as [Lf Ff]. apply in_seq in Hi. rewrite C.
    + unfold ys. cbn [map app list_sum fold_right]. rewrite map_app, list_sum_app. unfold zeros.
      rewrite sum_zeros by lia. cbn [map list_sum fold_right]. rewrite app_nth1 by lia.
      rewrite (app_nth2 f) by lia. rewrite nth_repeat. lia.
    + unfold zeros. rewrite app_length, repeat_length. lia.
    + apply Forall_app. split; [exact Ff|apply Forall_repeat; lia].
    + unfold ys. cbn [length]. rewrite seq_length. lia.
    + apply Forall_forall. intros y [<-|Hy]; [lia|]. apply in_seq in Hy. lia.
    + constructor; [apply seq_sorted|]. apply Forall_forall. intros y Hy. apply in_seq in Hy. lia.
  - intros f g Hf Hg E. apply in_nwords in Hf, Hg. apply (nth_ext_on 0 f g k); [tauto|tauto|]. intros i Hi. apply E, in_seq. lia.
Qed.

(** ** At numbers *)
Local Open Scope N_scope.
Definition chk_brackets (w n k D a b : N) : bool :=
  (0 <? D) && (0 <? k) && (2 <=? n) && (2 * (n / 2) =? n) && power_exceeds w (n / 2 - 1) k a b.
Theorem cannot_close_one_layer w n k D a b : chk_brackets w n k D a b = true ->
  forall M, sum_bits M (N.to_nat (n / 2 - 1)) (N.to_nat w) -> ~ layer_closes M (N.to_nat n) (N.to_nat k) (N.to_nat D).
Proof.
  unfold chk_brackets. rewrite !andb_true_iff, !N.ltb_lt, N.leb_le, N.eqb_eq. intros [[[[H0 H1] H2] H3] H4] M HM C.
  apply power_exceeds_sound in H4. apply to_nat_lt in H0, H1. set (h := N.to_nat (n / 2 - 1)) in *.
  assert (E : N.to_nat n = (2 * S h)%nat) by (unfold h; lia). rewrite E in C.
  pose proof (bracket_layer M h _ _ _ H0 H1 HM C). lia.
Qed.
Definition chk_count_layer (w n S t a b : N) : bool := (0 <? t) && (t <=? n) && power_exceeds w t ((S - 1) / t) a b.
Theorem cannot_count_one_layer w n S t a b : chk_count_layer w n S t a b = true ->
  forall M, sum_bits M (N.to_nat t) (N.to_nat w) -> ~ layer_counts M (N.to_nat n) (N.to_nat S).
Proof.
  unfold chk_count_layer. rewrite !andb_true_iff, N.ltb_lt, N.leb_le. intros [[H0 H1] H2] M HM C.
  apply power_exceeds_sound in H2. apply to_nat_lt in H0. apply to_nat_le in H1. divided_in H2.
  change (N.to_nat 1) with 1%nat in *. pose proof (counting_layer M _ _ _ _ H0 H1 HM C). lia.
Qed.
Definition chk_three_layer (w n m t a b : N) : bool :=
  (0 <? t) && (t <? n) && power_exceeds w t (((m - 1) / 2 - 1) / t) a b.
Theorem cannot_three_one_layer w n m t a b : chk_three_layer w n m t a b = true ->
  forall M, sum_bits M (N.to_nat t) (N.to_nat w) -> ~ layer_three_sums M (N.to_nat n) (N.to_nat m).
Proof.
  unfold chk_three_layer. rewrite !andb_true_iff, !N.ltb_lt. intros [[H0 H1] H2] M HM C.
  apply power_exceeds_sound in H2. apply to_nat_lt in H0, H1. divided_in H2.
  change (N.to_nat 1) with 1%nat in *. change (N.to_nat 2) with 2%nat in H2.
  pose proof (three_sum_layer M _ _ _ _ H0 H1 HM C). lia.
Qed.
Theorem cannot_average_one_layer w n q k : (1 <? q) && (k + q <=? n + 1) && (w <? k) = true ->
  forall M, sum_bits M (N.to_nat k) (N.to_nat w) -> ~ layer_averages M (N.to_nat n) (N.to_nat q).
Proof.
  rewrite !andb_true_iff, !N.ltb_lt, N.leb_le. intros [[H0 H1] H2] M HM C.
  apply to_nat_lt in H0, H2. apply to_nat_le in H1. rewrite !N2Nat.inj_add in H1.
  pose proof (average_layer M _ _ _ _ H0 H1 HM C) as E. apply Nat.pow_le_mono_r_iff in E; lia.
Qed.
Print Assumptions cannot_close_one_layer.
Print Assumptions cannot_count_one_layer.
Print Assumptions cannot_three_one_layer.
Print Assumptions cannot_average_one_layer.
