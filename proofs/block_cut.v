(** One layer of block-sparse attention whose last token is always the same: the text is cut into blocks of B
    tokens, a query reads a message of every block, and opens the k blocks with the highest scores.  Who holds
    some of the blocks, whole ones, tells whoever holds the others little: of each head the sum of her messages,
    and her k best blocks.  So blocks are tokens of one_layer_cut.v that tell more each, and a task that has
    many rows cannot be done. *)
From Coq Require Import List Arith Lia Bool PeanoNat NArith Permutation.
Import ListNotations.
From Limen Require Import counting powers streaming_state rows families many_hops trees.
From Limen Require each_w_stack.
Import each_w_stack(monoid, carrier, add, zero, add_assoc, add_zero, total, total_app).

(** ** The k best of some places *)
(** [f p] is the score of place p, and what it shows if it is opened.  The higher score is ahead, of equal
    ones the place to the left. *)
Section Best.
Context {X : Type}.
Definition ahead (f : nat -> nat * X) (p q : nat) : bool :=
  (fst (f q) <? fst (f p)) || ((fst (f q) =? fst (f p)) && (p <=? q)).
Fixpoint put (f : nat -> nat * X) (p : nat) (l : list nat) : list nat :=
  match l with [] => [p] | q :: l => if ahead f p q then p :: q :: l else q :: put f p l end.
Definition ranked (f : nat -> nat * X) (ps : list nat) : list nat := fold_right (put f) [] ps.
Definition best (k : nat) (f : nat -> nat * X) (ps : list nat) : list nat := firstn k (ranked f ps).

Lemma ahead_spec f p q : ahead f p q = true <-> fst (f q) < fst (f p) \/ (fst (f q) = fst (f p) /\ p <= q).
Proof. unfold ahead. rewrite orb_true_iff, andb_true_iff, Nat.ltb_lt, Nat.eqb_eq, Nat.leb_le. tauto. Qed.
Lemma behind_spec f p q : ahead f p q = false <-> fst (f p) < fst (f q) \/ (fst (f q) = fst (f p) /\ q < p).
Proof.
  unfold ahead. rewrite orb_false_iff, andb_false_iff, Nat.ltb_ge, Nat.eqb_neq, Nat.leb_gt. lia.
Qed.
(** In whatever order they are put in. *)
Lemma put_put f p q l : put f p (put f q l) = put f q (put f p l).
Proof.
  assert (T : forall a b c, ahead f a b = true -> ahead f b c = true -> ahead f a c = true)
    by (intros a b c; rewrite !ahead_spec; lia).
  assert (Either : forall a b, (ahead f a b = true /\ ahead f b a = false) \/ (ahead f a b = false /\ ahead f b a = true) \/ a = b).
  { intros a b. rewrite !ahead_spec, !behind_spec. lia. }
  induction l as [|r l IH]; cbn [put].
  - destruct (Either p q) as [[E G]|[[E G]| ->]]; rewrite ?E, ?G; reflexivity.
  - destruct (ahead f q r) eqn:Eq, (ahead f p r) eqn:Ep; cbn [put]; rewrite ?Eq, ?Ep.
    + destruct (Either p q) as [[E G]|[[E G]| ->]]; rewrite ?E, ?G, ?Ep, ?Eq; reflexivity.
    + destruct (ahead f p q) eqn:E; [rewrite (T p q r E Eq) in Ep; discriminate|reflexivity].
    + destruct (ahead f q p) eqn:E; [rewrite (T q p r E Ep) in Eq; discriminate|reflexivity].
    + rewrite IH. reflexivity.
Qed.
Lemma ranked_permutation f ps qs : Permutation ps qs -> ranked f ps = ranked f qs.
Proof.
  induction 1 as [|p l l' _ IH|p q l|l l' l'' _ IH1 _ IH2]; cbn [ranked fold_right]; auto.
  - fold (ranked f l) (ranked f l'). congruence.
  - apply put_put.
  - congruence.
Qed.
(** What is not among the k best of some is not among the k best of more. *)
Lemma put_best k f p l : firstn k (put f p (firstn k l)) = firstn k (put f p l).
Proof.
  revert l. induction k as [|k IH]; intros l; [reflexivity|]. destruct l as [|q l]; [reflexivity|].
  cbn [firstn put]. destruct (ahead f p q) eqn:E; cbn [firstn].
  - f_equal. destruct k as [|k]; [reflexivity|]. rewrite !firstn_cons, firstn_firstn. do 2 f_equal. lia.
  - f_equal. apply IH.
Qed.
Lemma puts_best k f ps l : firstn k (fold_right (put f) (firstn k l) ps) = firstn k (fold_right (put f) l ps).
Proof.
  induction ps as [|p ps IH]; cbn [fold_right]; [rewrite firstn_firstn; f_equal; lia|].
  rewrite <- put_best, IH, put_best. reflexivity.
Qed.
Lemma best_of_two k f ps qs rs : Permutation rs (ps ++ qs) ->
  best k f rs = firstn k (fold_right (put f) (best k f ps) qs).
Proof.
  intros H. unfold best at 1. rewrite (ranked_permutation f rs (qs ++ ps)) by (rewrite H; apply Permutation_app_comm).
  unfold ranked at 1. rewrite fold_right_app. fold (ranked f ps). unfold best. symmetry. apply puts_best.
Qed.

(** It depends on the places in question alone. *)
Lemma put_in f p l q : In q (put f p l) -> q = p \/ In q l.
Proof.
  induction l as [|r l IH]; cbn [put]; [intros [<-|[]]; auto|].
  destruct (ahead f p r); [intros [<-|H]; auto|]. intros [<-|H]; [right; left; reflexivity|].
  destruct (IH H); [auto|right; right; assumption].
Qed.
Lemma puts_in f ps l q : In q (fold_right (put f) l ps) -> In q ps \/ In q l.
Proof.
  induction ps as [|p ps IH]; cbn [fold_right]; [auto|]. intros H. apply put_in in H. simpl.
  destruct H as [->|H]; [auto|]. destruct (IH H); auto.
Qed.
Lemma firstn_in {A} k (l : list A) a : In a (firstn k l) -> In a l.
Proof. intros H. rewrite <- (firstn_skipn k l). apply in_app_iff. auto. Qed.
Lemma best_in k f ps q : In q (best k f ps) -> In q ps.
Proof. intros H. apply firstn_in, puts_in in H. destruct H as [H|[]]. exact H. Qed.
Lemma put_same f g p l : f p = g p -> (forall q, In q l -> f q = g q) -> put f p l = put g p l.
Proof.
  intros Hp. induction l as [|q l IH]; intros H; [reflexivity|]. cbn [put].
  replace (ahead g p q) with (ahead f p q) by (unfold ahead; rewrite Hp, (H q (or_introl eq_refl)); reflexivity).
  rewrite IH by (intros r Hr; apply H; right; exact Hr). reflexivity.
Qed.
Lemma puts_same f g ps l : (forall q, In q ps -> f q = g q) -> (forall q, In q l -> f q = g q) ->
  fold_right (put f) l ps = fold_right (put g) l ps.
Proof.
  intros Hp Hl. induction ps as [|p ps IH]; [reflexivity|]. cbn [fold_right].
  rewrite <- IH by (intros q Hq; apply Hp; right; exact Hq).
  apply put_same; [apply Hp; left; reflexivity|]. intros q Hq. apply puts_in in Hq.
  destruct Hq as [Hq|Hq]; [apply Hp; right|apply Hl]; exact Hq.
Qed.
End Best.

(** Lists of at most k things. *)
Fixpoint somes {A} (l : list (option A)) : list A :=
  match l with [] => [] | Some a :: l => a :: somes l | None :: l => somes l end.
Definition upto {A} (k : nat) (al : list A) : list (list A) := map somes (words k (None :: map Some al)).
Lemma upto_length {A} k (al : list A) : length (upto k al) = S (length al) ^ k.
Proof. unfold upto. rewrite map_length, words_length. simpl. rewrite map_length. reflexivity. Qed.
Lemma in_upto {A} k (al l : list A) : length l <= k -> Forall (fun a => In a al) l -> In l (upto k al).
Proof.
  intros L F. apply in_map_iff. exists (map Some l ++ repeat None (k - length l)). split.
  - generalize (k - length l). intros j. clear. induction l as [|a l IH]; cbn [map app somes]; [|rewrite IH; reflexivity].
    induction j as [|j IH]; simpl; auto.
  - apply in_words. rewrite app_length, map_length, repeat_length. split; [lia|]. apply Forall_app. split.
    + apply Forall_map. eapply Forall_impl; [|exact F]. intros a Ha. right. apply in_map, Ha.
    + apply Forall_forall. intros x Hx. apply repeat_spec in Hx. left. auto.
Qed.

(** ** The layer *)
(** The query is that of the last token and fixed; what a token has besides its value, as its place, is a part
    of it.  Of a block a head knows its score and what it shows if it is opened (the sums of softmax over its
    tokens), and its message, which is added to those of all other blocks.  What is answered is any function of
    the tokens of the block in which the last one stands, of the added messages, and of all that the opened
    blocks show, their scores and places included.  Scores are compared, so natural numbers stand for them. *)
Record sparse_layer (Ans : Type) := {
  BToken : Type; heads : nat; opened : nat;
  Shown : Type; looks : nat -> list BToken -> nat * Shown;
  pooled : monoid; pooled_commute : forall a b : carrier pooled, add a b = add b a;
  message : nat -> list BToken -> carrier pooled;
  reads : list BToken -> list (carrier pooled * list (nat * (nat * Shown))) -> Ans }.
Arguments BToken {Ans}. Arguments heads {Ans}. Arguments opened {Ans}. Arguments Shown {Ans}. Arguments looks {Ans}.
Arguments pooled {Ans}. Arguments pooled_commute {Ans}. Arguments message {Ans}. Arguments reads {Ans}.

Section Layer.
Context {Ans : Type}.
Variable L : sparse_layer Ans.
Variable B : nat.
(** Block p, and how many blocks stand before the one of the last token. *)
Definition piece (xs : list (BToken L)) (p : nat) : list (BToken L) := firstn B (skipn (p * B) xs).
Definition whole (xs : list (BToken L)) : nat := (length xs - 1) / B.
(** Of blocks [f p] at places ps: the messages of head i, added up, and its best blocks. *)
Definition pool (i : nat) (f : nat -> list (BToken L)) (ps : list nat) : carrier (pooled L) :=
  total (message L i) (map f ps).
Definition shown (i : nat) (f : nat -> list (BToken L)) (ps : list nat) : list (nat * (nat * Shown L)) :=
  map (fun p => (p, looks L i (f p))) (best (opened L) (fun p => looks L i (f p)) ps).
Definition told (f : nat -> list (BToken L)) (ps : list nat) :=
  map (fun i => (pool i f ps, shown i f ps)) (seq 0 (heads L)).
Definition block_answers (xs : list (BToken L)) : Ans :=
  reads L (skipn (whole xs * B) xs) (told (piece xs) (seq 0 (whole xs))).

(** ** Sizes: c bits for the added messages of any a blocks, e bits for what a block shows, its score included. *)
Definition pool_bits (a c : nat) : Prop := exists Ks, length Ks <= 2 ^ c /\
  forall i bs, i < heads L -> length bs = a -> Forall (fun b => length b = B) bs -> In (total (message L i) bs) Ks.
Definition look_bits (e : nat) : Prop := exists Xs, length Xs <= 2 ^ e /\
  forall i b, i < heads L -> length b = B -> In (looks L i b) Xs.

(** What is told of some places settles, with the blocks at all others, what is told of all. *)
Lemma pool_permutation i f ps qs : Permutation ps qs -> pool i f ps = pool i f qs.
Proof.
  unfold pool. induction 1 as [|p l l' _ IH|p q l|l l' l'' _ IH1 _ IH2]; cbn [map total fold_right]; auto.
  - fold (total (message L i) (map f l)) (total (message L i) (map f l')). congruence.
  - fold (total (message L i) (map f l)). rewrite !add_assoc. f_equal. apply pooled_commute.
  - congruence.
Qed.
Lemma told_settles f g ps qs rs : Permutation rs (ps ++ qs) ->
  told f ps = told g ps -> (forall q, In q qs -> f q = g q) -> told f rs = told g rs.
Proof.
  intros HP HT HQ. apply map_ext_in. intros i Hi. pose proof (ext_in_map HT i Hi) as E. injection E as E1 E2. f_equal.
  - rewrite !(pool_permutation i _ rs (ps ++ qs) HP). unfold pool in *. rewrite !map_app, !total_app, E1. f_equal. f_equal.
    apply map_ext_in. exact HQ.
  - unfold shown in *. set (lf := fun p => looks L i (f p)) in *. set (lg := fun p => looks L i (g p)) in *.
    assert (Same : best (opened L) lf ps = best (opened L) lg ps).
    { apply (f_equal (map fst)) in E2. rewrite !map_map in E2. simpl in E2. rewrite !map_id in E2. exact E2. }
    assert (Looks : forall q, In q qs \/ In q (best (opened L) lf ps) -> lf q = lg q).
    { intros q [Hq|Hq]; [unfold lf, lg; rewrite HQ by exact Hq; reflexivity|].
      rewrite <- Same in E2. pose proof (ext_in_map E2 q Hq) as G. injection G as G. exact G. }
    assert (Best : best (opened L) lf rs = best (opened L) lg rs).
    { rewrite !(best_of_two (opened L) _ ps qs rs HP), <- Same. f_equal.
      apply puts_same; intros q Hq; apply Looks; auto. }
    rewrite <- Best. apply map_ext_in. intros q Hq. f_equal. apply Looks.
    rewrite (best_of_two (opened L) lf ps qs rs HP) in Hq. apply firstn_in, puts_in in Hq. exact Hq.
Qed.
Lemma told_same f g ps : (forall p, In p ps -> f p = g p) -> told f ps = told g ps.
Proof. apply (told_settles f g [] ps ps); [apply Permutation_refl|]. apply map_ext. intros i. unfold shown, best. simpl. rewrite !firstn_nil. reflexivity. Qed.
(** How many things can be told of a blocks at places below b. *)
Definition block_bits (h k c e i : nat) : nat := h * (c + k * (e + i)).
Lemma tellings b a c e i : pool_bits a c -> look_bits e -> b + 1 <= 2 ^ i ->
  exists T, length T <= 2 ^ block_bits (heads L) (opened L) c e i /\ forall f ps, length ps = a ->
    (forall p, In p ps -> p < b /\ length (f p) = B) -> In (told f ps) T.
Proof.
  intros [Ks [HK Hpool]] [Xs [HX Hlook]] Hb.
  exists (words (heads L) (list_prod Ks (upto (opened L) (list_prod (seq 0 b) Xs)))). split.
  - rewrite words_length, prod_length, upto_length, prod_length, seq_length. unfold block_bits.
    rewrite (Nat.mul_comm (heads L)), Nat.pow_mul_r. apply Nat.pow_le_mono_l. rewrite Nat.pow_add_r.
    apply Nat.mul_le_mono; [exact HK|]. rewrite (Nat.mul_comm (opened L)), Nat.pow_mul_r. apply Nat.pow_le_mono_l.
    rewrite Nat.pow_add_r. assert (P : 1 <= 2 ^ e) by (pose proof (Nat.pow_nonzero 2 e); lia). nia.
  - intros f ps Lp Hp. apply in_words. unfold told. rewrite map_length, seq_length. split; [reflexivity|].
    apply Forall_map, Forall_forall. intros j Hj. apply in_seq in Hj. apply in_prod.
    + apply Hpool; [lia|rewrite map_length; exact Lp|]. apply Forall_map, Forall_forall. intros p Hq. apply Hp, Hq.
    + apply in_upto; unfold shown; [rewrite map_length; apply firstn_le_length|].
      apply Forall_map, Forall_forall. intros p Hq. apply best_in in Hq. destruct (Hp p Hq) as [H1 H2].
      apply in_prod; [apply in_seq; lia|apply Hlook; [lia|exact H2]].
Qed.

(** ** The cut: [hers] are the places whose blocks one player writes, as u says; v says all the others, and the
    block of the last token. *)
Theorem block_cut {X Y} (F : list X) (W : list Y) (input : X -> Y -> list (BToken L)) hers n b a c e i :
  pool_bits a c -> look_bits e -> b + 1 <= 2 ^ i -> NoDup F ->
  (forall u v, In u F -> In v W -> length (input u v) = n) ->
  let ps := filter hers (seq 0 ((n - 1) / B)) in
  length ps = a -> (forall p, In p ps -> p < b) ->
  (forall u v v' p, In u F -> In v W -> In v' W -> In p ps -> piece (input u v) p = piece (input u v') p) ->
  (forall u u' v p, In u F -> In u' F -> In v W -> p < (n - 1) / B -> hers p = false ->
     piece (input u v) p = piece (input u' v) p) ->
  (forall u u' v, In u F -> In u' F -> In v W ->
     skipn ((n - 1) / B * B) (input u v) = skipn ((n - 1) / B * B) (input u' v)) ->
  (forall u u', In u F -> In u' F ->
     (forall v, In v W -> block_answers (input u v) = block_answers (input u' v)) -> u = u') ->
  length F <= 2 ^ block_bits (heads L) (opened L) c e i.
Proof.
  intros Hpool Hlook Hb NF Hn ps La Hps Hers Others Own Hsep. set (nb := (n - 1) / B) in *.
  destruct W as [|v0 W'] eqn:EW.
  { pose proof (Nat.pow_nonzero 2 (block_bits (heads L) (opened L) c e i)). destruct F as [|u [|u' F']]; [simpl; lia|simpl; lia|].
    exfalso. inversion NF as [|? ? N]; subst. apply N. rewrite (Hsep u u'); simpl; auto. intros v []. }
  rewrite <- EW in *. assert (Hv0 : In v0 W) by (rewrite EW; left; reflexivity). clear EW W'.
  destruct (tellings b a c e i Hpool Hlook Hb) as [T [LT HT]]. etransitivity; [|exact LT].
  apply (pigeon (fun u => told (piece (input u v0)) ps)); [exact NF| |].
  - intros u Hu. apply HT; [exact La|]. intros p Hp. split; [apply Hps, Hp|].
    unfold piece. rewrite firstn_length, skipn_length, (Hn u v0 Hu Hv0).
    apply filter_In in Hp. destruct Hp as [Hp _]. apply in_seq in Hp. unfold nb in Hp.
    pose proof (Nat.mul_div_le (n - 1) B). nia.
  - intros u u' Hu Hu' E. apply Hsep; [exact Hu|exact Hu'|]. intros v Hv. unfold block_answers, whole.
    rewrite !Hn by assumption. fold nb. rewrite (Own u u' v Hu Hu' Hv). f_equal.
    apply (told_settles _ _ ps (filter (fun p => negb (hers p)) (seq 0 nb))).
    + unfold ps. clear. induction (seq 0 nb) as [|p l IH]; [constructor|]. cbn [filter].
      destruct (hers p); cbn [negb app]; [apply perm_skip, IH|]. rewrite IH at 1. apply Permutation_middle.
    + transitivity (told (piece (input u v0)) ps); [|transitivity (told (piece (input u' v0)) ps); [exact E|]].
      * apply told_same. intros p Hp. apply Hers; auto.
      * apply told_same. intros p Hp. apply Hers; auto.
    + intros q Hq. apply filter_In in Hq. destruct Hq as [Hq Hh]. apply in_seq in Hq. apply negb_true_iff in Hh.
      apply Others; auto. lia.
Qed.
End Layer.

(** ** She holds the first a blocks. *)
Lemma filter_none {A} (p : A -> bool) l : (forall a, In a l -> p a = false) -> filter p l = [].
Proof.
  induction l as [|a l IH]; intros H; [reflexivity|]. simpl. rewrite (H a (or_introl eq_refl)).
  apply IH. intros b Hb. apply H. right. exact Hb.
Qed.
Lemma first_blocks {Ans} (L : sparse_layer Ans) B a r R c e i : 0 < B -> 0 < r ->
  pool_bits L B a c -> look_bits L B e -> a + 1 <= 2 ^ i -> family (block_answers L B) (a * B) r R ->
  R <= 2 ^ block_bits (heads L) (opened L) c e i.
Proof.
  intros HB Hr Hpool Hlook Hi [X [Y [F [W [mine [yours [NF [<- [Hm [Hy Hsep]]]]]]]]]].
  assert (Ha : a <= (a * B + r - 1) / B) by (apply Nat.div_le_lower_bound; lia).
  assert (E : filter (fun p => p <? a) (seq 0 ((a * B + r - 1) / B)) = seq 0 a).
  { replace ((a * B + r - 1) / B) with (a + ((a * B + r - 1) / B - a)) by lia. rewrite seq_app, filter_app. simpl.
    rewrite filter_all, filter_none; [apply app_nil_r| |]; intros p Hp; apply in_seq in Hp.
    - apply Nat.ltb_ge. lia.
    - apply Nat.ltb_lt. lia. }
  apply (block_cut L B F W (fun u v => mine u ++ yours v) (fun p => p <? a) (a * B + r) a a); auto.
  - intros u v Hu Hv. rewrite app_length, (Hm u Hu), (Hy v Hv). reflexivity.
  - rewrite E. apply seq_length.
  - rewrite E. intros p Hp. apply in_seq in Hp. lia.
  - rewrite E. intros u v v' p Hu _ _ Hp. apply in_seq in Hp. unfold piece.
    rewrite !skipn_app, !firstn_app, !skipn_length, (Hm u Hu).
    replace (B - (a * B - p * B)) with 0 by nia. reflexivity.
  - intros u u' v p Hu Hu' _ _ Hp. apply Nat.ltb_ge in Hp. unfold piece. rewrite !skipn_app, (Hm u Hu), (Hm u' Hu').
    rewrite !(skipn_all2 (mine _)) by (rewrite ?(Hm u Hu), ?(Hm u' Hu'); nia). reflexivity.
  - intros u u' v Hu Hu' _. rewrite !skipn_app, (Hm u Hu), (Hm u' Hu').
    rewrite !(skipn_all2 (mine _)) by (rewrite ?(Hm u Hu), ?(Hm u' Hu'); nia). reflexivity.
Qed.

(** ** Brackets: she holds every second one of q blocks, the last of them included
    Each block ends with r open brackets, and the next one begins by closing r.  Who wrote the one does not write
    the other, so all are closed if both players have the same q words.  Between these stand short pairs. *)
Definition short (j : nat) : list (bool * nat) := concat (repeat [(true, 0); (false, 0)] j).
Definition opening (w : list nat) : list (bool * nat) := map (pair true) w.
Definition closing (w : list nat) : list (bool * nat) := map (pair false) (rev w).
Lemma short_length j : length (short j) = 2 * j.
Proof. unfold short. induction j as [|j IH]; [reflexivity|]. cbn [repeat concat]. rewrite app_length, IH. simpl. lia. Qed.
Lemma closed_short D j xs : 0 < D -> closed D [] (short j ++ xs) = closed D [] xs.
Proof.
  intros HD. unfold short. induction j as [|j IH]; [reflexivity|]. cbn [repeat concat app closed length].
  replace (0 <? D) with true by (symmetry; apply Nat.ltb_lt, HD). exact IH.
Qed.
Lemma closed_opening D w xs : forall open, length open + length w <= D ->
  closed D open (opening w ++ xs) = closed D (rev w ++ open) xs.
Proof.
  induction w as [|a w IH]; intros open HD; [reflexivity|]. cbn [opening map app closed length rev] in *.
  replace (length open <? D) with true by (symmetry; apply Nat.ltb_lt; lia). cbn [andb].
  fold (opening w). rewrite IH by (simpl; lia). rewrite <- app_assoc. reflexivity.
Qed.
Lemma closed_closing D w w' xs : length w = length w' ->
  closed D (rev w) (closing w' ++ xs) = same w w' && closed D [] xs.
Proof.
  intros L. rewrite <- (app_nil_r (rev w)). generalize (@nil nat) at 1 2. revert w' L.
  induction w as [|a w IH] using rev_ind; intros w' L open.
  - destruct w'; [|discriminate]. reflexivity.
  - destruct w' as [|b w' _] using rev_ind; [rewrite app_length in L; simpl in L; lia|].
    rewrite !app_length in L. simpl in L. unfold closing. rewrite !rev_app_distr. cbn [rev app map closed].
    fold (closing w'). rewrite IH by lia.
    assert (E : same (w ++ [a]) (w' ++ [b]) = same w w' && (b =? a)).
    { assert (Lw : length w = length w') by lia. clear -Lw. revert w' Lw. induction w as [|c w IH]; intros [|d w'] L; try discriminate; simpl.
      - apply andb_true_r.
      - rewrite IH by (simpl in L; lia). apply andb_assoc. }
    rewrite E. destruct (b =? a), (same w w'); reflexivity.
Qed.

Lemma concat_length {A} (f : nat -> list A) c : forall j p, (forall i, p <= i < p + j -> length (f i) = c) ->
  length (concat (map f (seq p j))) = j * c.
Proof.
  induction j as [|j IH]; intros p H; [reflexivity|]. cbn [seq map concat]. rewrite app_length, IH, H by (intros; try apply H; lia).
  reflexivity.
Qed.
Lemma piece_middle {Ans} (L : sparse_layer Ans) B p x y z : length x = p * B -> length y = B ->
  piece L B (x ++ y ++ z) p = y.
Proof.
  intros Hx Hy. unfold piece. rewrite <- Hx, skipn_app, skipn_all, Nat.sub_diag. cbn [app skipn].
  rewrite firstn_app, Hy, Nat.sub_diag, firstn_all2 by lia. apply app_nil_r.
Qed.

Section Borders.
Variables q r g f : nat.     (* q + 1 blocks; 2 r brackets open at their ends; g, f short pairs *)
Definition hers (p : nat) : bool := Nat.odd (S q - p).
Definition side (u v : list (list nat)) (p : nat) : list (list nat) := if hers p then u else v.
Definition bracket_block (u v : list (list nat)) (p : nat) : list (bool * nat) :=
  match p with 0 => short r | S p' => closing (nth p' (side u v p) []) end ++ short g ++ opening (nth p (side u v p) []).
Definition last_block (v : list (list nat)) : list (bool * nat) := closing (nth q v []) ++ short f ++ [(true, 0)].
Definition brackets (u v : list (list nat)) : list (bool * nat) :=
  concat (map (bracket_block u v) (seq 0 (S q))) ++ last_block v.
Definition agree (u v : list (list nat)) (p j : nat) : bool :=
  forallb (fun i => same (nth i (side u v i) []) (nth i (side u v (S i)) [])) (seq p j).

Lemma hers_end : hers (S q) = false. Proof. unfold hers. rewrite Nat.sub_diag. reflexivity. Qed.
Lemma hers_next p : p <= q -> hers (S p) = negb (hers p).
Proof.
  intros Hp. unfold hers. replace (S q - p) with (S (S q - S p)) by lia. rewrite Nat.odd_succ, <- Nat.negb_odd.
  symmetry. apply negb_involutive.
Qed.
Definition proper (u : list (list nat)) : Prop := forall p, p <= q -> length (nth p u []) = 2 * r.
Lemma side_length u v p i : proper u -> proper v -> i <= q -> length (nth i (side u v p) []) = 2 * r.
Proof. intros Hu Hv Hi. unfold side. destruct (hers p); auto. Qed.
Lemma block_length u v p : proper u -> proper v -> p <= q -> length (bracket_block u v p) = 2 * (2 * r) + 2 * g.
Proof.
  intros Hu Hv Hp. unfold bracket_block, opening, closing. rewrite !app_length, short_length, map_length.
  rewrite (side_length u v p p Hu Hv Hp). destruct p as [|p']; [rewrite short_length; lia|].
  rewrite map_length, rev_length, (side_length u v (S p') p' Hu Hv) by lia. lia.
Qed.

Lemma agree_same u : agree u u 0 (S q) = true.
Proof. apply forallb_forall. intros i _. unfold side. destruct (hers i), (hers (S i)); apply same_refl. Qed.
Lemma agree_eq u v : proper u -> proper v -> length u = S q -> length v = S q -> agree u v 0 (S q) = true -> u = v.
Proof.
  intros Hu Hv Lu Lv E. apply (nth_ext_on [] u v (S q)); [exact Lu|exact Lv|]. intros i Hi.
  unfold agree in E. rewrite forallb_forall in E. specialize (E i ltac:(apply in_seq; lia)). unfold side in E.
  rewrite hers_next in E by lia. apply same_eq in E.
  - destruct (hers i); simpl in E; congruence.
  - destruct (hers i); simpl; rewrite ?Hu, ?Hv by lia; reflexivity.
Qed.
Lemma hers_count n : S q <= n -> length (filter hers (seq 0 n)) = (S q + 1) / 2.
Proof.
  intros Hn. replace n with (S q + (n - S q)) by lia. rewrite seq_app, filter_app, app_length.
  rewrite (filter_none hers (seq (0 + S q) _)); cbn [length].
  - rewrite Nat.add_0_r. clear. unfold hers. generalize (S q) as m. induction m as [|m IH]; [reflexivity|].
    cbn [seq filter]. rewrite <- seq_shift. rewrite Nat.sub_0_r.
    assert (E : length (filter (fun p => Nat.odd (S m - p)) (map S (seq 0 m))) = (m + 1) / 2).
    { rewrite <- IH. clear. induction (seq 0 m) as [|p l IH]; [reflexivity|]. cbn [map filter].
      replace (S m - S p) with (m - p) by lia. destruct (Nat.odd (m - p)); cbn [length]; rewrite IH; reflexivity. }
    destruct (Nat.odd (S m)) eqn:O; cbn [length]; rewrite E.
    + apply Nat.odd_spec in O. destruct O as [x Hx]. replace (m + 1) with (2 * x + 1) by lia. replace (S m + 1) with (2 * (x + 1)) by lia.
      rewrite (Nat.mul_comm 2 (x + 1)), Nat.div_mul by lia. rewrite Nat.add_comm, Nat.mul_comm, Nat.div_add by lia. simpl. lia.
    + rewrite <- Nat.negb_even in O. apply negb_false_iff, Nat.even_spec in O. destruct O as [x Hx].
      replace (m + 1) with (x * 2) by lia. replace (S m + 1) with (1 + x * 2) by lia. rewrite Nat.div_add, Nat.div_mul by lia. reflexivity.
  - intros p Hp. apply in_seq in Hp. unfold hers. replace (S q - p) with 0 by lia. reflexivity.
Qed.
Variable D : nat.
Hypothesis HD : 0 < D.
Hypothesis HrD : 2 * r <= D.
Lemma closed_from u v xs : proper u -> proper v -> forall j p, p + j <= q ->
  closed D (rev (nth p (side u v p) [])) (concat (map (bracket_block u v) (seq (S p) j)) ++ closing (nth (p + j) (side u v (S (p + j))) []) ++ xs)
  = agree u v p (S j) && closed D [] xs.
Proof.
  intros Hu Hv. assert (L := fun p i => side_length u v p i Hu Hv). induction j as [|j IH]; intros p Hp.
  - rewrite Nat.add_0_r. cbn [seq map concat app]. rewrite closed_closing by (rewrite !L by lia; reflexivity).
    unfold agree. cbn [seq forallb]. rewrite andb_true_r. reflexivity.
  - cbn [seq map concat]. rewrite <- app_assoc. unfold bracket_block at 1. rewrite <- !app_assoc.
    rewrite closed_closing by (rewrite !L by lia; reflexivity).
    rewrite closed_short, closed_opening by (rewrite ?L by lia; simpl; lia || exact HD). rewrite app_nil_r.
    replace (p + S j) with (S p + j) by lia. rewrite IH by lia. unfold agree. cbn [seq forallb]. apply andb_assoc.
Qed.
Lemma brackets_closed u v : proper u -> proper v -> closed D [] (brackets u v ++ [(false, 0)]) = agree u v 0 (S q).
Proof.
  intros Hu Hv. unfold brackets, last_block. cbn [seq map concat]. unfold bracket_block at 1. rewrite <- !app_assoc.
  rewrite !closed_short, closed_opening by (rewrite ?(side_length u v 0 0 Hu Hv) by lia; simpl; lia || exact HD).
  rewrite app_nil_r. replace (nth q v []) with (nth (0 + q) (side u v (S (0 + q))) [])
    by (unfold side; simpl; rewrite hers_end; reflexivity).
  rewrite (closed_from u v _ Hu Hv q 0) by lia. rewrite closed_short by exact HD. cbn [closed length app].
  replace (0 <? D) with true by (symmetry; apply Nat.ltb_lt, HD). apply andb_true_r.
Qed.
End Borders.
Theorem bracket_blocks (L : sparse_layer bool) q r g f k D c e i : let B := 2 * (2 * r) + 2 * g in
  0 < B -> 0 < k -> 0 < D -> 2 * r <= D -> pool_bits L B ((S q + 1) / 2) c -> look_bits L B e -> S q + 1 <= 2 ^ i ->
  closes_by (block_answers L B) (S q * B + 2 * r + 2 * f + 2) k D ->
  (k ^ (2 * r)) ^ S q <= 2 ^ block_bits (heads L) (opened L) c e i.
Proof.
  intros B HB Hk HD HrD Hpool Hlook Hi [tok [last C]]. rewrite <- (nwords_length (2 * r) k), <- words_length.
  set (F := words (S q) (nwords (2 * r) k)).
  assert (HF : forall u, In u F -> length u = S q /\ proper q r u /\ forall p, Forall (fun a => a < k) (nth p u [])).
  { intros u Hu. apply in_words in Hu. destruct Hu as [Lu Fu]. rewrite Forall_forall in Fu. split; [exact Lu|]. split.
    - intros p Hp. specialize (Fu (nth p u []) ltac:(apply nth_In; lia)). apply in_nwords in Fu. tauto.
    - intros p. destruct (le_lt_dec (S q) p) as [G|G]; [rewrite nth_overflow by lia; constructor|].
      specialize (Fu (nth p u []) ltac:(apply nth_In; lia)). apply in_nwords in Fu. tauto. }
  set (blocks := fun u v => wrb tok 0 (concat (map (bracket_block q r g u v) (seq 0 (S q))))).
  set (rest := fun v => wrb tok (S q * B) (last_block q f v ++ [(false, 0)]) ++ last).
  assert (Lblocks : forall u v, In u F -> In v F -> length (blocks u v) = S q * B).
  { intros u v Hu Hv. unfold blocks. rewrite wrb_length. apply concat_length. intros p Hp. apply block_length; try lia; apply HF; assumption. }
  set (text := fun u v => blocks u v ++ rest v).
  assert (Etext : forall u v, In u F -> In v F -> text u v = wrb tok 0 (brackets q r g f u v ++ [(false, 0)]) ++ last).
  { intros u v Hu Hv. unfold text, rest, brackets. rewrite <- (app_assoc (concat _)), (wrb_app tok (concat _)).
    fold (blocks u v). rewrite <- (wrb_length tok (concat _) 0). fold (blocks u v). rewrite Lblocks by assumption.
    rewrite <- app_assoc. reflexivity. }
  assert (Llast : forall v, In v F -> length (rest v) = 2 * r + 2 * f + 2 + length last).
  { intros v Hv. unfold rest, last_block, closing. rewrite !app_length, wrb_length, !app_length, map_length, rev_length, short_length.
    destruct (HF v Hv) as [_ [Pv _]]. rewrite Pv by lia. simpl. lia. }
  assert (Block : forall u v p, In u F -> In v F -> p < S q ->
    piece L B (text u v) p = wrb tok (p * B) (bracket_block q r g u v p)).
  { intros u v p Hu Hv Hp. destruct (HF u Hu) as [_ [Pu _]], (HF v Hv) as [_ [Pv _]].
    assert (Lb : forall p, p <= q -> length (bracket_block q r g u v p) = B) by (intros; apply block_length; assumption).
    unfold text, blocks. replace (S q) with (p + S (q - p)) by lia. rewrite seq_app, map_app, concat_app, Nat.add_0_l.
    cbn [seq map concat]. rewrite !wrb_app, <- !app_assoc, (concat_length _ B) by (intros; apply Lb; lia). simpl (0 + p * B).
    apply piece_middle; rewrite wrb_length; [apply concat_length; intros; apply Lb; lia|apply Lb; lia]. }
  assert (Mine : forall u v p, hers q p = true -> bracket_block q r g u v p = bracket_block q r g u u p).
  { intros u v p Hp. unfold bracket_block, side. rewrite Hp. reflexivity. }
  assert (Yours : forall u v p, hers q p = false -> bracket_block q r g u v p = bracket_block q r g v v p).
  { intros u v p Hp. unfold bracket_block, side. rewrite Hp. reflexivity. }
  assert (Early : forall p, hers q p = true -> p < S q).
  { intros p Hp. destruct (le_lt_dec (S q) p) as [G|G]; [|exact G]. unfold hers in Hp.
    replace (S q - p) with 0 in Hp by lia. discriminate. }
  set (n := S q * B + (2 * r + 2 * f + 2 + length last)).
  assert (Hq : S q <= (n - 1) / B) by (apply Nat.div_le_lower_bound; unfold n; lia).
  apply (block_cut L B F F text (hers q) n (S q) ((S q + 1) / 2)); auto.
  - apply words_NoDup, nwords_NoDup.
  - intros u v Hu Hv. unfold text. rewrite app_length, Lblocks, Llast by assumption. reflexivity.
  - apply hers_count, Hq.
  - intros p Hp. apply filter_In in Hp. apply Early. tauto.
  - intros u v v' p Hu Hv Hv' Hp. apply filter_In in Hp. destruct Hp as [_ Hp].
    rewrite !Block, (Mine u v), (Mine u v') by auto. reflexivity.
  - intros u u' v p Hu Hu' Hv Hp Hh. destruct (le_lt_dec (S q) p) as [G|G].
    + unfold piece, text. rewrite !skipn_app, !Lblocks by assumption.
      rewrite !(skipn_all2 (blocks _ _)) by (rewrite Lblocks by assumption; nia). reflexivity.
    + rewrite !Block, (Yours u v), (Yours u' v) by auto. reflexivity.
  - intros u u' v Hu Hu' Hv. unfold text. rewrite !skipn_app, !Lblocks by assumption.
    rewrite !(skipn_all2 (blocks _ _)) by (rewrite Lblocks by assumption; nia). reflexivity.
  - intros u u' Hu Hu' E. destruct (HF u Hu) as [Lu [Pu _]], (HF u' Hu') as [Lu' [Pu' _]].
    symmetry. apply (agree_eq q r); auto. rewrite <- (agree_same q u), <- !(brackets_closed q r g f D) by auto.
    assert (Right : forall w, In w F -> block_answers L B (text w u) = closed D [] (brackets q r g f w u ++ [(false, 0)])).
    { intros w Hw. rewrite Etext by assumption. apply C.
      - unfold brackets. rewrite app_length, <- (wrb_length tok _ 0). fold (blocks w u). rewrite Lblocks by assumption.
        unfold last_block, closing. rewrite !app_length, map_length, rev_length, short_length, Pu by lia. simpl. lia.
      - assert (K : forall w p, In w F -> Forall (fun a => a < k) (nth p w [])) by (intros x p Hx; apply HF, Hx).
        assert (Ks : forall p j, Forall (fun a => a < k) (nth j (side q w u p) [])) by (intros p j; unfold side; destruct (hers q p); apply K; assumption).
        assert (Ksh : forall j, Forall (fun x : bool * nat => snd x < k) (short j)).
        { intros j. unfold short. induction j as [|j IH]; simpl; repeat constructor; assumption. }
        assert (Kc : forall x, Forall (fun a => a < k) x -> Forall (fun x => snd x < k) (closing x)).
        { intros x Hx. unfold closing. apply Forall_map. simpl. apply Forall_rev, Hx. }
        apply Forall_app. split.
        + apply Forall_concat, Forall_map, Forall_forall. intros p _. unfold bracket_block.
          repeat (apply Forall_app; split); auto; [destruct p; auto|]. unfold opening. apply Forall_map. simpl. apply Ks.
        + unfold last_block. repeat (apply Forall_app; split); auto. }
    rewrite <- !Right by assumption. symmetry. apply E, Hu.
Qed.

(** ** Composition: w = 0 asks, z_0 is not hers; she holds entries of the first table in the text, those of part
    0, and all tables after it are the identity. *)
Definition hops_by {Tok} (ans : list Tok -> nat) (m : nat) (ns : list nat) : Prop :=
  exists tok tok0 tokw, forall z0 ws zs, z0 < m -> In ws (parts ns) -> In zs (tables m ns) ->
    ans (text Tok tok 0 zs ++ [tok0 z0; tokw ws]) = chain m z0 ns ws zs.
Fixpoint product (ns : list nat) : nat := match ns with [] => 1 | n :: ns => n * product ns end.
(** The last table is z, and has N entries. *)
Fixpoint identities (V : nat) (ns : list nat) : list (list nat) :=
  match ns with [] | [_] => [] | n :: ns => seq 0 (n * V) :: identities (n * V) ns end.
Definition zeros (ns : list nat) : list nat := map (fun _ => 0) ns.
Lemma zeros_in ns : Forall (lt 0) ns -> In (zeros ns) (parts ns).
Proof. induction 1 as [|n ns Hn Hns IH]; [left; reflexivity|]. apply in_parts. auto. Qed.
Lemma identities_in z ns : ns <> [] -> forall V, In z (nwords (V * product ns) (V * product ns)) ->
  In (identities V ns ++ [z]) (tables V ns).
Proof.
  induction ns as [|n ns IH]; intros Hn V Hz; [congruence|]. destruct ns as [|n' ns'].
  - simpl in Hz. rewrite Nat.mul_1_r, Nat.mul_comm in Hz. apply in_tables. split; [exact Hz|left; reflexivity].
  - change (identities V (n :: n' :: ns')) with (seq 0 (n * V) :: identities (n * V) (n' :: ns')).
    cbn [app]. apply in_tables. split.
    + apply in_nwords. rewrite seq_length. split; [reflexivity|]. apply Forall_forall. intros i Hi. apply in_seq in Hi. lia.
    + apply IH; [discriminate|]. cbn [product] in Hz |- *. replace (n * V * (n' * product ns')) with (V * (n * (n' * product ns'))) by ring. exact Hz.
Qed.
Lemma identities_chain z ns : Forall (lt 0) ns -> ns <> [] -> forall V i, i < V ->
  chain V i ns (zeros ns) (identities V ns ++ [z]) = nth i z 0.
Proof.
  induction 1 as [|n ns Hn Hns IH]; intros Ne V i Hi; [congruence|]. destruct ns as [|n' ns']; [reflexivity|].
  change (identities V (n :: n' :: ns')) with (seq 0 (n * V) :: identities (n * V) (n' :: ns')).
  change (zeros (n :: n' :: ns')) with (0 :: zeros (n' :: ns')). cbn [app chain].
  rewrite seq_nth by nia. rewrite Nat.mul_0_l, !Nat.add_0_l. apply IH; [discriminate|nia].
Qed.
Lemma text_end {Tok} (tok : nat -> nat -> nat -> Tok) zs z : forall k,
  text Tok tok k (zs ++ [z]) = block Tok tok (k + length zs) z ++ text Tok tok k zs.
Proof.
  induction zs as [|y zs IH]; intros k; cbn [app text length].
  - rewrite Nat.add_0_r, app_nil_r. reflexivity.
  - rewrite IH, <- app_assoc. do 2 f_equal. lia.
Qed.
Lemma hop_family {Tok} (ans : list Tok -> nat) m ns t : Forall (lt 0) ns -> ns <> [] -> t <= m -> hops_by ans m ns ->
  exists r, 0 < r /\ family ans t r ((m * product ns) ^ t).
Proof.
  intros Hns Ne Ht [tok [tok0 [tokw C]]]. set (N := m * product ns). set (j := length (identities m ns)).
  assert (HN : t <= N). { assert (0 < product ns) by (clear -Hns; induction Hns; simpl; nia). unfold N. nia. }
  exists (N - t + (length (text Tok tok 0 (identities m ns)) + 2)). split; [lia|]. rewrite <- nwords_length.
  apply (by_truth ans t _ (nwords t N) (seq 0 t) (wrv (tok j) 0)
           (fun x => wrv (tok j) t (repeat 0 (N - t)) ++ text Tok tok 0 (identities m ns) ++ [tok0 x; tokw (zeros ns)])
           (fun f x => nth x f 0) (nwords_NoDup t N)).
  - intros f Hf. apply in_nwords in Hf. rewrite wrv_len. tauto.
  - intros x _. rewrite !app_length, wrv_len, repeat_length. simpl. lia.
  - intros f x Hf Hx. apply in_seq in Hx. pose proof Hf as Hf'. apply in_nwords in Hf. destruct Hf as [Lf Ff].
    set (z := f ++ repeat 0 (N - t)).
    assert (Hz : In z (nwords N N)).
    { apply in_nwords. unfold z. rewrite app_length, repeat_length. split; [lia|]. apply Forall_app. split; [exact Ff|].
      apply Forall_repeat. lia. }
    rewrite <- (app_nth1 f (repeat 0 (N - t)) 0) by lia. fold z.
    rewrite <- (identities_chain z ns Hns Ne m x) by lia. rewrite <- C by (auto using zeros_in, identities_in; lia).
    f_equal. rewrite text_end, Nat.add_0_l. fold j. unfold block, z. rewrite wrv_split, Lf, <- !app_assoc. reflexivity.
  - intros f g Hf Hg E. apply in_nwords in Hf, Hg. apply (nth_ext_on 0 f g t); [tauto|tauto|].
    intros i Hi. apply E, in_seq. lia.
Qed.

(** ** At numbers
    h heads that open k blocks of B tokens each; she holds a of them, whose added messages have c bits; what a
    block shows has e.  The place of one of her blocks takes as many bits as its number has. *)
Definition sparse_size {Ans} (L : sparse_layer Ans) (B a h k c e : nat) : Prop :=
  heads L = h /\ opened L = k /\ pool_bits L B a c /\ look_bits L B e.
Local Open Scope N_scope.
Definition told_bits (h k c e b : N) : N := h * (c + k * (e + N.size b)).
Lemma told_bits_nat h k c e b :
  N.to_nat (told_bits h k c e b) = block_bits (N.to_nat h) (N.to_nat k) (N.to_nat c) (N.to_nat e) (N.to_nat (N.size b)).
Proof. unfold told_bits, block_bits. lia. Qed.
Lemma places b : (N.to_nat b + 1 <= 2 ^ N.to_nat (N.size b))%nat.
Proof. pose proof (N.size_gt b) as H. apply to_nat_lt in H. rewrite N2Nat.inj_pow in H. change (N.to_nat 2) with 2%nat in H. lia. Qed.
(** The first a blocks of a text of which r tokens are left. *)
Lemma first_told {Ans} (L : sparse_layer Ans) B a h k c e r R : 0 < B -> (0 < r)%nat ->
  sparse_size L (N.to_nat B) (N.to_nat a) (N.to_nat h) (N.to_nat k) (N.to_nat c) (N.to_nat e) ->
  family (block_answers L (N.to_nat B)) (N.to_nat (a * B)) r R -> (R <= 2 ^ N.to_nat (told_bits h k c e a))%nat.
Proof.
  intros HB Hr [Hh [Hk [Hpool Hlook]]] Fm. rewrite N2Nat.inj_mul in Fm. rewrite told_bits_nat, <- Hh, <- Hk.
  exact (first_blocks L (N.to_nat B) (N.to_nat a) r R _ _ _ ltac:(lia) Hr Hpool Hlook (places a) Fm).
Qed.

(** Equality, Disjointness: k bits vary. *)
Theorem cannot_compare_blocks g h k c e B n a j : (g = eqb_l \/ g = disj) ->
  (0 <? B) && (j <=? a * B) && (a * B <=? n) && (j <? n) && (told_bits h k c e a <? j) = true ->
  forall L, sparse_size L (N.to_nat B) (N.to_nat a) (N.to_nat h) (N.to_nat k) (N.to_nat c) (N.to_nat e) ->
  ~ compares_by g (block_answers L (N.to_nat B)) (N.to_nat n).
Proof.
  rewrite !andb_true_iff, !N.ltb_lt, !N.leb_le. intros Hg [[[[H0 H1] H2] H3] H4] L HL C.
  destruct (compare_family g (block_answers L (N.to_nat B)) (N.to_nat n) (N.to_nat (a * B)) (N.to_nat j) Hg
              ltac:(lia) ltac:(lia) ltac:(lia) C) as [r [Hr Fm]].
  pose proof (first_told L B a h k c e r _ H0 Hr HL Fm) as E. apply Nat.pow_le_mono_r_iff in E; lia.
Qed.
(** Counting. *)
Theorem cannot_count_blocks h k c e B n S a x y :
  (0 <? B) && (0 <? a) && (a * B <=? n) && power_exceeds (told_bits h k c e a) (a * B) ((S - 1) / (a * B)) x y = true ->
  forall L, sparse_size L (N.to_nat B) (N.to_nat a) (N.to_nat h) (N.to_nat k) (N.to_nat c) (N.to_nat e) ->
  ~ counts_by (block_answers L (N.to_nat B)) (N.to_nat n) (N.to_nat S).
Proof.
  rewrite !andb_true_iff, !N.ltb_lt, N.leb_le. intros [[[H0 H1] H2] H3] L HL C. apply power_exceeds_sound in H3.
  destruct (counting_family _ (N.to_nat n) (N.to_nat S) (N.to_nat (a * B)) ltac:(nia) ltac:(lia) C) as [r [Hr Fm]].
  pose proof (first_told L B a h k c e r _ H0 Hr HL Fm) as E. rewrite N2Nat.inj_div, N2Nat.inj_sub in H3.
  change (N.to_nat 1) with 1%nat in H3. lia.
Qed.
(** 3-Sum. *)
Theorem cannot_three_blocks h k c e B n m a x y :
  (0 <? B) && (0 <? a) && (a * B <? n) && power_exceeds (told_bits h k c e a) (a * B) (((m - 1) / 2 - 1) / (a * B)) x y = true ->
  forall L, sparse_size L (N.to_nat B) (N.to_nat a) (N.to_nat h) (N.to_nat k) (N.to_nat c) (N.to_nat e) ->
  ~ three_sums_by (block_answers L (N.to_nat B)) (N.to_nat n) (N.to_nat m).
Proof.
  rewrite !andb_true_iff, !N.ltb_lt. intros [[[H0 H1] H2] H3] L HL C. apply power_exceeds_sound in H3.
  destruct (three_sum_family _ (N.to_nat n) (N.to_nat m) (N.to_nat (a * B)) ltac:(nia) ltac:(lia) C) as [r [Hr Fm]].
  pose proof (first_told L B a h k c e r _ H0 Hr HL Fm) as E. divided_in H3. change (N.to_nat 1) with 1%nat in H3.
  change (N.to_nat 2) with 2%nat in H3. lia.
Qed.
(** Sparse averages of q >= 2 places; j bits vary. *)
Theorem cannot_average_blocks h k c e B n q a j :
  (0 <? B) && (1 <? q) && (j + q <=? n + 1) && (j <=? a * B) && (a * B <=? n) && (told_bits h k c e a <? j) = true ->
  forall L, sparse_size L (N.to_nat B) (N.to_nat a) (N.to_nat h) (N.to_nat k) (N.to_nat c) (N.to_nat e) ->
  ~ averages_by (block_answers L (N.to_nat B)) (N.to_nat n) (N.to_nat q).
Proof.
  rewrite !andb_true_iff, !N.ltb_lt, !N.leb_le. intros [[[[[H0 H1] H2] H3] H4] H5] L HL C.
  destruct (average_family _ (N.to_nat n) (N.to_nat q) (N.to_nat (a * B)) (N.to_nat j) ltac:(lia) ltac:(lia) ltac:(lia) ltac:(lia) C) as [r [Hr Fm]].
  pose proof (first_told L B a h k c e r _ H0 Hr HL Fm) as E. apply Nat.pow_le_mono_r_iff in E; lia.
Qed.
(** Trees: her edges hang a B vertices on the n - 1 - a B others but the last. *)
Theorem cannot_tell_trees_blocks h k c e B n a x y : (0 <? B) && chk_tree (told_bits h k c e a) n (a * B) x y = true ->
  forall L, sparse_size L (N.to_nat B) (N.to_nat a) (N.to_nat h) (N.to_nat k) (N.to_nat c) (N.to_nat e) ->
  ~ trees_by (block_answers L (N.to_nat B)) (N.to_nat n).
Proof.
  rewrite andb_true_iff, N.ltb_lt. intros [H0 H] L HL C. destruct (chk_tree_sound _ _ _ _ _ H) as [Hk [Ht Hlt]].
  destruct (tree_family _ _ _ Hk C) as [r [Hr Fm]]. rewrite Ht in Fm, Hlt.
  pose proof (first_told L B a h k c e r _ H0 Hr HL Fm) as E. lia.
Qed.
(** Composition: she holds a B entries of the first table. *)
Definition productN (ns : list N) : N := fold_right N.mul 1 ns.
Theorem cannot_compose_blocks h k c e B m ns a x y :
  (0 <? B) && forallb (N.ltb 0) ns && negb (N.of_nat (length ns) =? 0) && (a * B <=? m) &&
    power_exceeds (told_bits h k c e a) (a * B) (m * productN ns) x y = true ->
  forall L, sparse_size L (N.to_nat B) (N.to_nat a) (N.to_nat h) (N.to_nat k) (N.to_nat c) (N.to_nat e) ->
  ~ hops_by (block_answers L (N.to_nat B)) (N.to_nat m) (map N.to_nat ns).
Proof.
  rewrite !andb_true_iff, N.ltb_lt, N.leb_le, negb_true_iff, N.eqb_neq, forallb_forall.
  intros [[[[H0 H1] H2] H3] H4] L HL C. apply power_exceeds_sound in H4.
  assert (Hns : Forall (lt 0) (map N.to_nat ns)).
  { apply Forall_map, Forall_forall. intros v Hv. specialize (H1 v Hv). apply N.ltb_lt in H1. lia. }
  assert (Ne : map N.to_nat ns <> []) by (destruct ns; [simpl in H2; lia|discriminate]).
  destruct (hop_family _ (N.to_nat m) _ (N.to_nat (a * B)) Hns Ne ltac:(lia) C) as [r [Hr Fm]].
  pose proof (first_told L B a h k c e r _ H0 Hr HL Fm) as E. rewrite N2Nat.inj_mul in H4.
  replace (N.to_nat (productN ns)) with (product (map N.to_nat ns)) in H4; [lia|].
  clear. unfold productN. induction ns as [|v ns IH]; [reflexivity|]. cbn [map product fold_right]. rewrite IH. lia.
Qed.
(** Brackets: at each of a borders r are open; she holds every second of a blocks. *)
Theorem cannot_close_blocks h k c e B n kinds D a r x y :
  (0 <? B) && (0 <? kinds) && (0 <? D) && (2 * (r / 2) =? r) && (2 * (B / 2) =? B) && (2 * (n / 2) =? n) && (r <=? D) &&
    (2 * r <=? B) && (0 <? a) && (a * B + r + 2 <=? n) && power_exceeds (told_bits h k c e a) (a * r) kinds x y = true ->
  forall L, sparse_size L (N.to_nat B) (N.to_nat ((a + 1) / 2)) (N.to_nat h) (N.to_nat k) (N.to_nat c) (N.to_nat e) ->
  ~ closes_by (block_answers L (N.to_nat B)) (N.to_nat n) (N.to_nat kinds) (N.to_nat D).
Proof.
  rewrite !andb_true_iff, !N.ltb_lt, !N.leb_le, !N.eqb_eq.
  intros [[[[[[[[[[H0 H1] H2] H3] H4] H5] H6] H7] H8] H9] H10] L [Hh [Hk [Hpool Hlook]]] C. apply power_exceeds_sound in H10.
  set (q := N.to_nat (a - 1)). set (r2 := N.to_nat (r / 2)). set (g := N.to_nat (B / 2 - r)).
  set (f := N.to_nat (n / 2 - a * (B / 2) - r / 2 - 1)).
  assert (EB : N.to_nat B = (2 * (2 * r2) + 2 * g)%nat) by (unfold r2, g; lia).
  assert (Ea : N.to_nat a = Datatypes.S q) by (unfold q; lia).
  assert (En : N.to_nat n = (Datatypes.S q * N.to_nat B + 2 * r2 + 2 * f + 2)%nat).
  { rewrite <- Ea. unfold r2, f. assert (a * B = 2 * (a * (B / 2))) by (rewrite <- H4 at 1; ring). nia. }
  rewrite En, EB in C. rewrite EB in Hpool, Hlook.
  replace (N.to_nat ((a + 1) / 2)) with ((Datatypes.S q + 1) / 2)%nat in Hpool
    by (rewrite N2Nat.inj_div, N2Nat.inj_add, Ea; reflexivity).
  assert (Hi : (Datatypes.S q + 1 <= 2 ^ N.to_nat (N.size a))%nat) by (rewrite <- Ea; apply places).
  pose proof (bracket_blocks L q r2 g f (N.to_nat kinds) (N.to_nat D) _ _ _ ltac:(lia) ltac:(lia) ltac:(lia)
                ltac:(unfold r2; lia) Hpool Hlook Hi C) as E.
  rewrite <- Nat.pow_mul_r, <- Ea in E. replace (2 * r2 * N.to_nat a)%nat with (N.to_nat (a * r)) in E by (unfold r2; nia).
  rewrite told_bits_nat, <- Hh, <- Hk in H10. lia.
Qed.

(** ** Examples: one head of size 64 in 16 bits that opens 16 blocks of 64 tokens, on 2^20 tokens or edges, or as
    many bits twice: c = 66 16 bits of a sum, e = 67 16 of what a block shows. *)
Example equality_by_blocks := cannot_compare_blocks eqb_l 1 16 1056 1072 64 (2 ^ 20) (2 ^ 14) (2 ^ 20 - 1) (or_introl eq_refl) ltac:(vm_compute; reflexivity).
Example counting_by_blocks := cannot_count_blocks 1 16 1056 1072 64 (2 ^ 20) (2 ^ 20) 8191 1 1 ltac:(vm_compute; reflexivity).
Example three_sum_by_blocks := cannot_three_blocks 1 16 1056 1072 64 (2 ^ 20) (2 ^ 40) 16383 19 1 ltac:(vm_compute; reflexivity).
Example averages_by_blocks := cannot_average_blocks 1 16 1056 1072 64 (2 ^ 20) 4 (2 ^ 14) (2 ^ 20 - 3) ltac:(vm_compute; reflexivity).
Example trees_by_blocks := cannot_tell_trees_blocks 1 16 1056 1072 64 (2 ^ 20) 15000 16 1 ltac:(vm_compute; reflexivity).
Example composition_by_blocks := cannot_compose_blocks 1 16 1056 1072 64 (2 ^ 20) [1; 16] (2 ^ 14) 24 1 ltac:(vm_compute; reflexivity).
Example brackets_by_blocks := cannot_close_blocks 1 16 1056 1072 64 (2 ^ 20) 2 4 16383 4 1 1 ltac:(vm_compute; reflexivity).
(** With messages of 2^20 bits nothing is said; a layer that counts then: block_cut_satisfiable.v. *)
Fail Example counting_with_many_bits := cannot_count_blocks 1 16 (2 ^ 20) 1072 64 (2 ^ 20) (2 ^ 20) 8191 1 1 ltac:(vm_compute; reflexivity).
