(** Tasks, asked of any function of a text: R words that the first t tokens may write, of which any two are told
    apart by some continuation of r tokens.  Whoever answers all of them right must keep the words apart: sums
    of one full layer (one_layer_numbers.v), what blocks tell a query (block_cut.v).  The last token, which asks,
    is always the same. *)
From Coq Require Import List Arith Lia Bool PeanoNat Sorted.
Import ListNotations.
From Limen Require Import counting streaming_state rows.

Definition family {Tok Ans} (ans : list Tok -> Ans) (t r R : nat) : Prop :=
  exists (X Y : Type) (F : list X) (W : list Y) (mine : X -> list Tok) (yours : Y -> list Tok),
    NoDup F /\ length F = R /\ (forall u, In u F -> length (mine u) = t) /\
    (forall v, In v W -> length (yours v) = r) /\
    forall u u', In u F -> In u' F ->
      (forall v, In v W -> ans (mine u ++ yours v) = ans (mine u' ++ yours v)) -> u = u'.
(** All answers are right, and right answers tell the words apart. *)
Lemma by_truth {Tok Ans X Y} (ans : list Tok -> Ans) t r (F : list X) (W : list Y) mine yours
    (truth : X -> Y -> Ans) :
  NoDup F -> (forall u, In u F -> length (mine u) = t) -> (forall v, In v W -> length (yours v) = r) ->
  (forall u v, In u F -> In v W -> ans (mine u ++ yours v) = truth u v) ->
  (forall u u', In u F -> In u' F -> (forall v, In v W -> truth u v = truth u' v) -> u = u') ->
  family ans t r (length F).
Proof.
  intros NF Ht Hr Hc Hs. exists X, Y, F, W, mine, yours. repeat (split; [assumption|reflexivity] || split; auto).
  intros u u' Hu Hu' E. apply Hs; auto. intros v Hv. rewrite <- !Hc by assumption. apply E, Hv.
Qed.

Section Tasks.
Context {Tok : Type}.

(** ** Two strings of n bits, of which the second ends with a 1: that token asks. *)
Definition compares_by (g : list bool -> list bool -> bool) (ans : list Tok -> bool) (n : nat) : Prop :=
  exists bit sep, forall a b, length a = n -> S (length b) = n ->
    ans (wr bit 0 a ++ (sep ++ wr bit n (b ++ [true]))) = g a (b ++ [true]).
Lemma eqb_end a b c : eqb_l (a ++ c) (b ++ c) = eqb_l a b.
Proof.
  unfold eqb_l. destruct (list_eq_dec bool_dec (a ++ c) (b ++ c)) as [E|E], (list_eq_dec bool_dec a b) as [G|G];
    try reflexivity; exfalso.
  - apply G, (app_inv_tail c a b E).
  - apply E. congruence.
Qed.
Lemma disj_end a : forall b c, length a = length b -> disj (a ++ repeat false (length c)) (b ++ c) = disj a b.
Proof.
  induction a as [|x a IH]; intros [|y b] c L; try discriminate; cbn [app disj].
  - induction c as [|z c IHc]; [reflexivity|]. cbn [length repeat disj andb negb]. exact IHc.
  - rewrite IH by (simpl in L; lia). reflexivity.
Qed.
(** The first k bits of a vary; of the others, if any, the first t - k are among the first t tokens, too. *)
Lemma compare_family g (ans : list Tok -> bool) n t k : (g = eqb_l \/ g = disj) -> k <= t -> t <= n -> 0 < k < n ->
  compares_by g ans n -> exists r, 0 < r /\ family ans t r (2 ^ k).
Proof.
  intros Hg Hkt Ht Hk [bit [sep C]]. set (c := repeat false (n - 1 - k) ++ [true]).
  assert (Lc : length c = n - k) by (unfold c; rewrite app_length, repeat_length; simpl; lia).
  assert (Z : exists z, length z = n - k /\ forall a b, length a = k -> length b = k -> g (a ++ z) (b ++ c) = g a b).
  { destruct Hg; subst g; [exists c|exists (repeat false (length c))].
    - split; [exact Lc|]. intros; apply eqb_end.
    - split; [rewrite repeat_length; exact Lc|]. intros. apply disj_end. congruence. }
  destruct Z as [z [Lz Z]]. exists (length (wr bit t (skipn (t - k) z) ++ sep ++ wr bit n (repeat false k ++ c))).
  split; [rewrite !app_length, !wr_len, app_length, repeat_length; lia|]. rewrite <- bwords_length.
  apply (by_truth ans t _ (bwords k) (bwords k) (fun a => wr bit 0 (a ++ firstn (t - k) z))
           (fun b => wr bit t (skipn (t - k) z) ++ sep ++ wr bit n (b ++ c)) g (bwords_NoDup k)).
  - intros a Ha. apply in_bwords in Ha. rewrite wr_len, app_length, firstn_length. lia.
  - intros b Hb. apply in_bwords in Hb. rewrite !app_length, !wr_len, !app_length, repeat_length. lia.
  - intros a b Ha Hb. apply in_bwords in Ha, Hb. rewrite <- (Z a b Ha Hb). rewrite app_assoc.
    replace (wr bit 0 (a ++ firstn (t - k) z) ++ wr bit t (skipn (t - k) z)) with (wr bit 0 (a ++ z)).
    + unfold c. rewrite (app_assoc b). apply C; [rewrite app_length; lia|].
      rewrite app_length, repeat_length. lia.
    + rewrite <- (firstn_skipn (t - k) z) at 1. rewrite app_assoc, wr_app. do 2 f_equal.
      rewrite app_length, firstn_length. lia.
  - intros a a' Ha Ha' E. apply in_bwords in Ha, Ha'.
    assert (G : forall b, length b = k -> g a b = g a' b) by (intros b Hb; apply E, in_bwords, Hb).
    destruct Hg; subst g; [apply (eqb_sep k a a' Ha Ha' G)|apply (disj_sep k (proj1 Hk) a a' Ha Ha' G)].
Qed.

(** ** Counting, where the threshold, which stands last, is 1: does the symbol occur? *)
Definition counts_by (ans : list Tok -> bool) (n S : nat) : Prop :=
  exists symbol asked last, forall xs a, length xs = n -> Forall (fun x => x < S) xs -> a < S ->
    ans (wrv symbol 0 xs ++ asked a :: last) = (1 <=? count_occ Nat.eq_dec xs a).
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
(** t symbols, each one of V of its own. *)
Lemma counting_family (ans : list Tok -> bool) n S t : 0 < t -> t <= n -> counts_by ans n S ->
  exists r, 0 < r /\ family ans t r (((S - 1) / t) ^ t).
Proof.
  intros Ht Hn [symbol [asked [last C]]]. set (V := (S - 1) / t).
  assert (HV : t * V <= S - 1) by (apply Nat.mul_div_le; lia). set (pad := repeat 0 (n - t)).
  exists (n - t + Datatypes.S (length last)). split; [lia|]. rewrite <- nwords_length.
  apply (by_truth ans t _ (nwords t V) (list_prod (seq 0 t) (seq 0 V)) (fun f => wrv symbol 0 (spread V 0 f))
           (fun p => wrv symbol t pad ++ asked (1 + fst p * V + snd p) :: last)
           (fun f p => nth (fst p) f 0 =? snd p) (nwords_NoDup t V)).
  - intros f Hf. apply in_nwords in Hf. rewrite wrv_len, spread_length. tauto.
  - intros p _. rewrite app_length, wrv_len. unfold pad. rewrite repeat_length. reflexivity.
  - intros f [i v] Hf Hp. apply in_nwords in Hf. destruct Hf as [Lf Ff]. apply in_prod_iff in Hp. rewrite !in_seq in Hp.
    cbn [fst snd]. rewrite app_assoc.
    replace (wrv symbol 0 (spread V 0 f) ++ wrv symbol t pad) with (wrv symbol 0 (spread V 0 f ++ pad))
      by (rewrite wrv_split, spread_length, Lf; reflexivity).
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
Definition three_sums_by (ans : list Tok -> bool) (n m : nat) : Prop :=
  exists number last, forall xs, length xs = n -> Forall (fun x => x < m) xs ->
    ans (wrv number 0 xs ++ last) = has_pair m 0 xs.
Lemma has_pair_end m xs y : has_pair m 0 (xs ++ [y]) = has_pair m 0 xs || existsb (fun x => (x + y) mod m =? 0) xs.
Proof.
  induction xs as [|x xs IH]; [reflexivity|]. cbn [app has_pair existsb]. rewrite IH, existsb_app. cbn [existsb].
  rewrite orb_false_r. rewrite (existsb_ext_in (fun y0 => (x + y0 + 0) mod m =? 0) (fun y0 => (x + y0) mod m =? 0))
    by (intros; rewrite Nat.add_0_r; reflexivity). rewrite Nat.add_0_r.
  generalize (existsb (fun y0 => (x + y0) mod m =? 0) xs), (has_pair m 0 xs), ((x + y) mod m =? 0), (existsb (fun x0 => (x0 + y) mod m =? 0) xs).
  intros [] [] [] []; reflexivity.
Qed.
(** t of them are from V of their own each, all others 1: all of these between 1 and m/2, so that no two sum to 0. *)
Lemma three_sum_family (ans : list Tok -> bool) n m t : 0 < t -> t < n -> three_sums_by ans n m ->
  exists r, 0 < r /\ family ans t r ((((m - 1) / 2 - 1) / t) ^ t).
Proof.
  intros Ht Hn [number [last C]]. set (d := (m - 1) / 2). set (V := (d - 1) / t).
  assert (Hd : 2 * d <= m - 1) by (apply Nat.mul_div_le; lia). assert (HV : t * V <= d - 1) by (apply Nat.mul_div_le; lia).
  set (pad := repeat 1 (n - S t)). set (up := map S). exists (n - t + length last).
  split; [lia|]. rewrite <- nwords_length.
  assert (Hmine : 0 < V -> forall f, In f (nwords t V) -> forall x, In x (up (spread V 0 f) ++ pad) -> 0 < x <= d).
  { intros PV f Hf x Hx. apply in_nwords in Hf. apply in_app_iff in Hx. destruct Hx as [Hx|Hx].
    - apply in_map_iff in Hx. destruct Hx as [z [<- Hz]].
      pose proof (spread_below V f (proj2 Hf) 0 d ltac:(nia)) as B. rewrite Forall_forall in B. specialize (B z Hz). lia.
    - apply repeat_spec in Hx. nia. }
  assert (L : forall f, In f (nwords t V) -> length (up (spread V 0 f)) = t).
  { intros f Hf. apply in_nwords in Hf. unfold up. rewrite map_length, spread_length. tauto. }
  set (yours := fun p : nat * nat => m - (2 + fst p * V + snd p)).
  apply (by_truth ans t _ (nwords t V) (list_prod (seq 0 t) (seq 0 V)) (fun f => wrv number 0 (up (spread V 0 f)))
           (fun p => wrv number t (pad ++ [yours p]) ++ last)
           (fun f p => nth (fst p) f 0 =? snd p) (nwords_NoDup t V)).
  - intros f Hf. rewrite wrv_len. apply L, Hf.
  - intros p _. rewrite !app_length, wrv_len, app_length. unfold pad. rewrite repeat_length. simpl. lia.
  - intros f [i v] Hf Hp. apply in_prod_iff in Hp. rewrite !in_seq in Hp. unfold yours. cbn [fst snd].
    assert (Hy : 1 < 2 + i * V + v <= d) by nia. pose proof (Hmine ltac:(lia) f Hf) as B. rewrite app_assoc.
    replace (wrv number 0 (up (spread V 0 f)) ++ wrv number t (pad ++ [m - (2 + i * V + v)]))
      with (wrv number 0 ((up (spread V 0 f) ++ pad) ++ [m - (2 + i * V + v)]))
      by (rewrite <- app_assoc, wrv_split, (L f Hf); reflexivity).
    rewrite C.
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
Definition averages_by (ans : list Tok -> nat) (n q : nat) : Prop :=
  exists bit place last, forall z ys, length z = n -> Forall (fun v => v < 2) z ->
    S (length ys) = q -> Forall (fun y => y < n - 1) ys -> StronglySorted lt ys ->
    ans (wrv bit 0 z ++ wrv place n ys ++ last) = list_sum (map (fun y => nth y z 0) (ys ++ [n - 1])).
Lemma average_family (ans : list Tok -> nat) n q t k : 1 < q -> k + q <= n + 1 -> k <= t -> t <= n -> averages_by ans n q ->
  exists r, 0 < r /\ family ans t r (2 ^ k).
Proof.
  intros Hq Hk Hkt Ht [bit [place [last C]]]. set (ys := fun i => i :: seq (n - q + 1) (q - 2)).
  exists (n - t + (q - 1 + length last)). split; [lia|]. rewrite <- nwords_length.
  set (zeros := repeat 0 (n - k)).
  apply (by_truth ans t _ (nwords k 2) (seq 0 k) (fun f => wrv bit 0 (f ++ repeat 0 (t - k)))
           (fun i => wrv bit t (repeat 0 (n - t)) ++ wrv place n (ys i) ++ last) (fun f i => nth i f 0) (nwords_NoDup k 2)).
  - intros f Hf. apply in_nwords in Hf. rewrite wrv_len, app_length, repeat_length. lia.
  - intros i _. rewrite !app_length, !wrv_len, repeat_length. unfold ys. cbn [length]. rewrite seq_length. lia.
  - intros f i Hf Hi. apply in_nwords in Hf. destruct Hf as [Lf Ff]. apply in_seq in Hi. rewrite app_assoc.
    replace (wrv bit 0 (f ++ repeat 0 (t - k)) ++ wrv bit t (repeat 0 (n - t))) with (wrv bit 0 (f ++ zeros)).
    2: { unfold zeros. replace (n - k) with ((t - k) + (n - t)) by lia. rewrite repeat_app, app_assoc, wrv_split.
         do 2 f_equal. rewrite app_length, repeat_length. lia. }
    rewrite C.
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
End Tasks.

(** ** Brackets: [(true, a)] opens one of kind a, [(false, a)] closes it; never more than D are open. *)
Fixpoint closed (D : nat) (open : list nat) (xs : list (bool * nat)) : bool :=
  match xs with
  | [] => match open with [] => true | _ => false end
  | (true, a) :: xs => (length open <? D) && closed D (a :: open) xs
  | (false, a) :: xs => match open with b :: open => (a =? b) && closed D open xs | [] => false end
  end.
Fixpoint wrb {Tok} (tok : nat -> bool * nat -> Tok) (i : nat) (xs : list (bool * nat)) : list Tok :=
  match xs with [] => [] | x :: xs => tok i x :: wrb tok (S i) xs end.
Lemma wrb_length {Tok} (tok : nat -> bool * nat -> Tok) xs : forall i, length (wrb tok i xs) = length xs.
Proof. induction xs; intros i; simpl; auto. Qed.
Lemma wrb_app {Tok} (tok : nat -> bool * nat -> Tok) xs ys : forall i, wrb tok i (xs ++ ys) = wrb tok i xs ++ wrb tok (i + length xs) ys.
Proof. induction xs as [|x xs IH]; intros i; simpl; [rewrite Nat.add_0_r; reflexivity|]. rewrite IH. do 3 f_equal. lia. Qed.
(** n brackets of k kinds, of which the last closes kind 0. *)
Definition closes_by {Tok} (ans : list Tok -> bool) (n k D : nat) : Prop :=
  exists tok last, forall xs, S (length xs) = n -> Forall (fun x => snd x < k) xs ->
    ans (wrb tok 0 (xs ++ [(false, 0)]) ++ last) = closed D [] (xs ++ [(false, 0)]).
(** Two words, kind by kind. *)
Fixpoint same (f g : list nat) : bool := match f, g with a :: f, b :: g => (b =? a) && same f g | _, _ => true end.
Lemma same_refl f : same f f = true.
Proof. induction f; simpl; [reflexivity|]. rewrite Nat.eqb_refl. assumption. Qed.
Lemma same_eq f : forall g, length f = length g -> same f g = true -> f = g.
Proof.
  induction f as [|a f IH]; intros [|b g] L E; try discriminate; [reflexivity|]. simpl in *. apply andb_true_iff in E.
  destruct E as [E1 E2]. apply Nat.eqb_eq in E1. f_equal; [auto|apply IH; [lia|assumption]].
Qed.
