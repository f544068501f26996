(** One layer of a token index: the last token reads the k tokens with the highest scores, of
    equal ones the leftmost.  A score is any function of the last token, of a token and of its
    place; the answer is any function of the last token and of what is read, with its places.
    Of m groups of tokens that can each decide the answer alone, one is not read if k < m. *)
From Coq Require Import List Arith Lia Bool PeanoNat NArith ZArith Permutation.
Import ListNotations.

(** ** The layer *)
Record index_layer (A : Type) := {
  il_score : nat -> nat -> nat -> Z;                 (* last token, place, token *)
  il_answer : nat -> list (option nat) -> A }.       (* last token, what is read at each place *)
Arguments il_score {A}. Arguments il_answer {A}.

Definition token (t : list nat) (p : nat) : nat := nth p t 0.
Definition ahead (s : nat -> nat -> Z) (x y : nat * nat) : bool :=
  let a := s (fst x) (snd x) in let b := s (fst y) (snd y) in
  ((b <? a) || ((a =? b) && (fst x <? fst y)%nat))%Z.
Definition rank (s : nat -> nat -> Z) (t : list nat) (q : nat) : nat :=
  length (filter (fun p => ahead s (p, token t p) (q, token t q)) (seq 0 (length t))).
Definition view (s : nat -> nat -> Z) (k : nat) (t : list nat) : list (option nat) :=
  map (fun q => if rank s t q <? k then Some (token t q) else None) (seq 0 (length t)).
Definition run_index {A} (L : index_layer A) (k : nat) (t : list nat) : A :=
  il_answer L (last t 0) (view (il_score L (last t 0)) k t).

(** ** The order of scores *)
Lemma ahead_spec s x y : ahead s x y = true <->
  (s (fst y) (snd y) < s (fst x) (snd x))%Z \/
  (s (fst x) (snd x) = s (fst y) (snd y) /\ fst x < fst y).
Proof.
  unfold ahead. rewrite orb_true_iff, andb_true_iff, Z.ltb_lt, Z.eqb_eq, Nat.ltb_lt. reflexivity.
Qed.
Lemma ahead_trans s x y z : ahead s x y = true -> ahead s y z = true -> ahead s x z = true.
Proof. rewrite !ahead_spec. lia. Qed.
Lemma ahead_not_behind s x y z : ahead s x y = true -> ahead s z y = false -> ahead s x z = true.
Proof.
  intros H E. apply not_true_iff_false in E. rewrite ahead_spec in *. lia.
Qed.
Lemma ahead_total s x y : fst x <> fst y -> ahead s x y = false -> ahead s y x = true.
Proof.
  intros N E. apply not_true_iff_false in E. rewrite ahead_spec in *. lia.
Qed.

(** ** What stands behind k tokens is not read, and may change *)
Lemma filter_incl_length {A} (f : A -> bool) (B l : list A) :
  NoDup B -> (forall b, In b B -> In b l /\ f b = true) -> length B <= length (filter f l).
Proof.
  intros N H. apply NoDup_incl_length; [assumption|]. intros b Hb. apply filter_In, H, Hb.
Qed.

Lemma hidden s k t t' (B D : list nat) :
  length t = length t' -> NoDup B -> k <= length B ->
  (forall b, In b B -> b < length t /\ ~ In b D) ->
  (forall p, ~ In p D -> token t p = token t' p) ->
  (forall b d, In b B -> In d D -> ahead s (b, token t b) (d, token t d) = true /\
                                   ahead s (b, token t' b) (d, token t' d) = true) ->
  view s k t = view s k t'.
Proof.
  intros Hl N Hk HB Hout Hah. unfold view. rewrite <- Hl. apply map_ext_in. intros q Hq.
  assert (Behind : forall u, length u = length t ->
    (forall b, In b B -> ahead s (b, token u b) (q, token u q) = true) -> rank s u q <? k = false).
  { intros u Hu H. apply Nat.ltb_ge. unfold rank. etransitivity; [exact Hk|].
    apply filter_incl_length; [assumption|]. intros b Hb. split; [|auto].
    apply in_seq. destruct (HB b Hb). lia. }
  destruct (in_dec Nat.eq_dec q D) as [Hd|Hd].
  - rewrite (Behind t), (Behind t'); auto; intros b Hb; apply (Hah b q Hb Hd).
  - destruct (existsb (fun d => ahead s (d, token t d) (q, token t q)
                             || ahead s (d, token t' d) (q, token t' q)) D) eqn:E.
    + apply existsb_exists in E. destruct E as [d [Hin Ha]].
      assert (Q : forall b, In b B -> ahead s (b, token t b) (q, token t q) = true /\
                                      ahead s (b, token t' b) (q, token t' q) = true).
      { intros b Hb. destruct (Hah b d Hb Hin) as [H1 H2]. destruct (HB b Hb) as [_ Hn].
        rewrite <- (Hout b Hn) in *. rewrite <- (Hout q Hd) in *.
        apply orb_true_iff in Ha. destruct Ha as [Ha|Ha];
          split; (eapply ahead_trans; [|exact Ha]); assumption. }
      rewrite (Behind t), (Behind t'); auto; intros b Hb; apply (Q b Hb).
    + assert (R : rank s t q = rank s t' q).
      { unfold rank. rewrite <- Hl. f_equal. apply filter_ext_in. intros p _.
        destruct (in_dec Nat.eq_dec p D) as [Hp|Hp].
        - assert (F : ahead s (p, token t p) (q, token t q)
                   || ahead s (p, token t' p) (q, token t' q) = false).
          { destruct (_ || _) eqn:G; [|reflexivity]. rewrite <- E. symmetry.
            apply existsb_exists. exists p. auto. }
          apply orb_false_iff in F. destruct F as [F1 F2]. rewrite F1, F2. reflexivity.
        - rewrite (Hout p Hp), (Hout q Hd). reflexivity. }
      rewrite R, (Hout q Hd). reflexivity.
Qed.

(** ** The best pair of a group, and the group whose best pair comes last *)
Fixpoint best (s : nat -> nat -> Z) (x : nat * nat) (l : list (nat * nat)) : nat * nat :=
  match l with [] => x | y :: l => best s (if ahead s y x then y else x) l end.
Lemma best_in s l : forall x, In (best s x l) (x :: l).
Proof.
  induction l as [|y l IH]; intros x; [left; reflexivity|]. simpl.
  destruct (IH (if ahead s y x then y else x)) as [E|E].
  - rewrite <- E. destruct (ahead s y x); auto.
  - right. right. exact E.
Qed.
Lemma not_ahead_refl s x : ahead s x x = false.
Proof. apply not_true_iff_false. rewrite ahead_spec. lia. Qed.
Lemma not_ahead_trans s x y z : ahead s y x = false -> ahead s z y = false -> ahead s z x = false.
Proof. intros H1 H2. apply not_true_iff_false in H1, H2. apply not_true_iff_false. rewrite ahead_spec in *. lia. Qed.
Lemma ahead_asym s x y : ahead s x y = true -> ahead s y x = false.
Proof. intros H. apply not_true_iff_false. rewrite ahead_spec in *. lia. Qed.
Lemma best_first s l : forall x y, In y (x :: l) -> ahead s y (best s x l) = false.
Proof.
  induction l as [|z l IH]; intros x y [E|E]; simpl in *.
  - subst. apply not_ahead_refl.
  - contradiction.
  - subst y. eapply not_ahead_trans; [apply IH; left; reflexivity|].
    destruct (ahead s z x) eqn:F; [apply ahead_asym, F|apply not_ahead_refl].
  - destruct E as [E|E].
    + subst y. eapply not_ahead_trans; [apply IH; left; reflexivity|].
      destruct (ahead s z x) eqn:F; [apply not_ahead_refl|exact F].
    + apply IH. right. exact E.
Qed.

Lemma last_of (s : nat -> nat -> Z) (b : nat -> nat * nat) m : 0 < m ->
  (forall i j, i < m -> j < m -> i <> j -> fst (b i) <> fst (b j)) ->
  exists i, i < m /\ forall j, j < m -> j <> i -> ahead s (b j) (b i) = true.
Proof.
  intros Hm Hd. induction m as [|m IH]; [lia|]. destruct m as [|m].
  - exists 0. split; [lia|]. intros; lia.
  - destruct IH as [i [Hi H]]; [lia|intros; apply Hd; lia|].
    destruct (ahead s (b i) (b (S m))) eqn:E.
    + exists (S m). split; [lia|]. intros j Hj Hn. destruct (Nat.eq_dec j i) as [->|Hne]; [exact E|].
      eapply ahead_trans; [apply H; lia|exact E].
    + exists i. split; [lia|]. intros j Hj Hn. destruct (Nat.eq_dec j (S m)) as [->|Hne].
      * apply ahead_total; [apply Hd; lia|exact E].
      * apply H; lia.
Qed.

(** ** The theorem.  Group i may hold the pairs (place, token) of its list.  Whatever pairs the
    other groups are to have, two texts have them, differ in group i alone, and in the answer. *)
Theorem hidden_tokens {A} (L : index_layer A) (right : list nat -> A) (allowed : list nat -> Prop)
  (n k m q : nat) (first : nat -> nat * nat) (others : nat -> list (nat * nat)) :
  let pairs j := first j :: others j in
  (forall i x, i < m -> In x (pairs i) -> fst x < n) ->
  (forall i j x y, i < m -> j < m -> i <> j -> In x (pairs i) -> In y (pairs j) -> fst x <> fst y) ->
  (forall i f, i < m -> (forall j, j < m -> j <> i -> In (f j) (pairs j)) -> exists t t',
     length t = n /\ length t' = n /\ last t 0 = q /\ last t' 0 = q /\
     allowed t /\ allowed t' /\ right t <> right t' /\
     (forall j, j < m -> j <> i -> token t (fst (f j)) = snd (f j)) /\
     (forall p, ~ In p (map fst (pairs i)) -> token t p = token t' p) /\
     (forall p, In p (map fst (pairs i)) -> In (p, token t p) (pairs i) /\ In (p, token t' p) (pairs i))) ->
  k < m -> ~ (forall t, length t = n -> last t 0 = q -> allowed t -> run_index L k t = right t).
Proof.
  intros pairs Hn Hdis Hbuild Hk Hright. set (s := il_score L q).
  set (b := fun j => best s (first j) (others j)).
  assert (Hb : forall j, In (b j) (pairs j)) by (intros j; apply best_in).
  assert (Hfar : forall x y, x < m -> y < m -> x <> y -> fst (b x) <> fst (b y)) by (intros x y Hx Hy Hxy; apply (Hdis x y); auto).
  destruct (last_of s b m ltac:(lia) Hfar) as [i [Hi Hlast]].
  destruct (Hbuild i b Hi) as (t & t' & Lt & Lt' & Qt & Qt' & At & At' & Hne & Hhold & Hout & Hin); [auto|].
  apply Hne. rewrite <- (Hright t), <- (Hright t') by assumption. unfold run_index. rewrite Qt, Qt'. f_equal.
  fold s. set (J := filter (fun j => negb (j =? i)) (seq 0 m)).
  assert (HJ : forall j, In j J <-> j < m /\ j <> i).
  { intros j. unfold J. rewrite filter_In, in_seq, negb_true_iff, Nat.eqb_neq. lia. }
  apply (hidden s k t t' (map (fun j => fst (b j)) J) (map fst (pairs i))).
  - congruence.
  - assert (ND : NoDup J) by (apply NoDup_filter, seq_NoDup).
    assert (Inj : forall x y, In x J -> In y J -> fst (b x) = fst (b y) -> x = y).
    { intros x y Hx Hy E. apply HJ in Hx, Hy. destruct (Nat.eq_dec x y) as [|Hxy]; [assumption|].
      exfalso. apply (Hdis x y (b x) (b y)); auto; lia. }
    clear - ND Inj. induction J as [|j J IH]; simpl; constructor; inversion ND; subst.
    + intros H. apply in_map_iff in H. destruct H as [x [E Hx]].
      assert (x = j) by (apply Inj; simpl; auto). subst. contradiction.
    + apply IH; [assumption|]. intros x y Hx Hy. apply Inj; simpl; auto.
  - rewrite map_length. unfold J.
    assert (C : forall a l, a <= i < a + l -> length (filter (fun j => negb (j =? i)) (seq a l)) = l - 1).
    { assert (C0 : forall l a, (i < a \/ a + l <= i) ->
        length (filter (fun j => negb (j =? i)) (seq a l)) = l).
      { induction l as [|l IHl]; intros a H; simpl; [reflexivity|].
        destruct (Nat.eqb_spec a i); [lia|]. simpl. rewrite IHl; lia. }
      intros a l. revert a. induction l as [|l IHl]; intros a H; [lia|]. simpl.
      destruct (Nat.eqb_spec a i) as [->|Hne']; simpl.
      - rewrite C0; lia.
      - rewrite IHl; lia. }
    rewrite C; lia.
  - intros p Hp. apply in_map_iff in Hp. destruct Hp as [j [<- Hj]]. apply HJ in Hj. split.
    + rewrite Lt. apply (Hn j); [lia|auto].
    + intros Hc. apply in_map_iff in Hc. destruct Hc as [x [E Hx]].
      apply (Hdis i j x (b j)); auto; lia.
  - exact Hout.
  - intros p d Hp Hd. apply in_map_iff in Hp. destruct Hp as [j [<- Hj]]. apply HJ in Hj. destruct Hj as [Hjm Hji].
    assert (Np : ~ In (fst (b j)) (map fst (pairs i))).
    { intros Hc. apply in_map_iff in Hc. destruct Hc as [x [E Hx]]. apply (Hdis i j x (b j)); auto; lia. }
    rewrite <- (Hout _ Np), (Hhold j Hjm Hji), <- surjective_pairing.
    destruct (Hin d Hd) as [H1 H2]. split.
    + eapply ahead_not_behind; [apply (Hlast j Hjm Hji)|]. apply best_first, H1.
    + eapply ahead_not_behind; [apply (Hlast j Hjm Hji)|]. apply best_first, H2.
Qed.

(** ** Texts as functions of the place *)
Definition written (n : nat) (f : nat -> nat) : list nat := map f (seq 0 n).
Lemma written_length n f : length (written n f) = n.
Proof. unfold written. rewrite map_length, seq_length. reflexivity. Qed.
Lemma written_token n f p : p < n -> token (written n f) p = f p.
Proof.
  intros H. unfold token, written. rewrite (nth_indep _ 0 (f 0)) by (rewrite map_length, seq_length; exact H).
  rewrite map_nth, seq_nth by exact H. reflexivity.
Qed.
Lemma written_beyond n f p : n <= p -> token (written n f) p = 0.
Proof. intros H. unfold token. apply nth_overflow. rewrite written_length. exact H. Qed.
Lemma written_last n f : 0 < n -> last (written n f) 0 = f (n - 1).
Proof.
  intros H. destruct n as [|n]; [lia|]. unfold written. rewrite seq_S, map_app. simpl.
  rewrite last_last. f_equal. lia.
Qed.

(** ** Two strings of n bits are compared: equality, disjointness *)
Definition bits (t : list nat) : Prop := Forall (fun x => x < 2) t.
Definition compared (test : nat -> nat -> bool) (n : nat) (t : list nat) : bool :=
  forallb (fun i => test (token t i) (token t (n + i))) (seq 0 n).
Definition same (x y : nat) : bool := x =? y.
Definition not_both (x y : nat) : bool := negb ((x =? 1) && (y =? 1)).
Definition compares_by {A} (test : nat -> nat -> bool) (L : index_layer A) (k n : nat) (yes : A -> bool) : Prop :=
  forall t, length t = 2 * n -> bits t -> yes (run_index L k t) = compared test n t.

(* The text: pair j holds (g j 0, g j 1). *)
Definition paired (n : nat) (g : nat -> bool -> nat) : list nat :=
  written (2 * n) (fun p => if p <? n then g p false else g (p - n) true).
Lemma paired_left n g j : j < n -> token (paired n g) j = g j false.
Proof. intros H. unfold paired. rewrite written_token by lia. destruct (Nat.ltb_spec j n); [reflexivity|lia]. Qed.
Lemma paired_right n g j : j < n -> token (paired n g) (n + j) = g j true.
Proof.
  intros H. unfold paired. rewrite written_token by lia. destruct (Nat.ltb_spec (n + j) n); [lia|]. f_equal. lia.
Qed.
Lemma paired_bits n g : (forall j side, g j side < 2) -> bits (paired n g).
Proof.
  intros H. unfold bits, paired, written. apply Forall_forall. intros x Hx. apply in_map_iff in Hx.
  destruct Hx as [p [<- _]]. destruct (p <? n); apply H.
Qed.
Lemma compared_paired test n g :
  compared test n (paired n g) = forallb (fun j => test (g j false) (g j true)) (seq 0 n).
Proof.
  unfold compared. apply eq_true_iff_eq. rewrite !forallb_forall. split; intros H j Hj; specialize (H j Hj);
    apply in_seq in Hj; rewrite paired_left, paired_right in * by lia; exact H.
Qed.

(** [neutral x side]: what a pair holds, both sides, if one of its sides has to be x. *)
Theorem cannot_compare_hidden {A} (test : nat -> nat -> bool) (neutral : nat -> bool -> bool -> nat)
  (z w0 w1 : nat) (L : index_layer A) (yes : A -> bool) (k n : nat) :
  z < 2 -> w0 < 2 -> w1 < 2 -> test z z = true -> test w0 w1 = false ->
  (forall x s, x < 2 -> neutral x s s = x /\ (forall r, neutral x s r < 2)
     /\ test (neutral x s false) (neutral x s true) = true) ->
  k + 2 <= n -> ~ compares_by test L k n yes.
Proof.
  intros Hz H0 H1 Tz Tw Hneu Hk Hsolve.
  set (L' := {| il_score := il_score L; il_answer := fun q v => yes (il_answer L q v) |}).
  refine (hidden_tokens L' (compared test n) bits (2 * n) k (n - 1) z
    (fun j => (j, 0)) (fun j => [(j, 1); (n + j, 0); (n + j, 1)]) _ _ _ _ _).
  - intros i x Hi Hx. simpl in Hx. intuition (subst; simpl; lia).
  - intros i j x y Hi Hj Hn Hx Hy. simpl in Hx, Hy.
    destruct Hx as [<-|[<-|[<-|[<-|[]]]]]; destruct Hy as [<-|[<-|[<-|[<-|[]]]]]; simpl; lia.
  - intros i f Hi Hf.
    assert (Hval : forall j, j < n - 1 -> j <> i -> snd (f j) < 2 /\ (fst (f j) = j \/ fst (f j) = n + j)).
    { intros j Hj Hn. specialize (Hf j Hj Hn). simpl in Hf.
      destruct Hf as [E|[E|[E|[E|[]]]]]; rewrite <- E; simpl; split; auto with arith. }
    set (h := fun (c0 c1 : nat) (j : nat) (side : bool) =>
      if n - 1 <=? j then z else if j =? i then (if side then c1 else c0)
      else neutral (snd (f j)) (negb (fst (f j) =? j)) side).
    assert (Hlt : forall c0 c1, c0 < 2 -> c1 < 2 -> forall j side, h c0 c1 j side < 2).
    { intros c0 c1 Hc0 Hc1 j side. unfold h. destruct (Nat.leb_spec (n - 1) j); [assumption|].
      destruct (Nat.eqb_spec j i); [destruct side; assumption|].
      destruct (Hval j) as [Hs _]; [lia|assumption|]. apply Hneu; assumption. }
    assert (Hcmp : forall c0 c1, compared test n (paired n (h c0 c1)) = test c0 c1).
    { intros c0 c1. rewrite compared_paired. destruct (test c0 c1) eqn:T.
      - apply forallb_forall. intros j Hj. apply in_seq in Hj. unfold h.
        destruct (Nat.leb_spec (n - 1) j); [assumption|]. destruct (Nat.eqb_spec j i); [assumption|].
        destruct (Hval j) as [Hs _]; [lia|assumption|]. apply Hneu; assumption.
      - apply not_true_iff_false. rewrite forallb_forall. intros H.
        assert (C : test (h c0 c1 i false) (h c0 c1 i true) = true) by (apply H; apply in_seq; lia).
        unfold h in C. destruct (Nat.leb_spec (n - 1) i); [lia|]. rewrite Nat.eqb_refl in C. congruence. }
    assert (Hlast : forall c0 c1, last (paired n (h c0 c1)) 0 = z).
    { intros c0 c1. unfold paired. rewrite written_last by lia.
      destruct (Nat.ltb_spec (2 * n - 1) n); [lia|]. unfold h.
      destruct (Nat.leb_spec (n - 1) (2 * n - 1 - n)); [reflexivity|lia]. }
    exists (paired n (h z z)), (paired n (h w0 w1)).
    repeat split; try (apply written_length); try apply Hlast.
    + apply paired_bits, Hlt; assumption.
    + apply paired_bits, Hlt; assumption.
    + rewrite !Hcmp, Tz, Tw. discriminate.
    + intros j Hj Hn. destruct (Hval j Hj Hn) as [Hs [E|E]]; rewrite E.
      * rewrite paired_left by lia. unfold h. destruct (Nat.leb_spec (n - 1) j); [lia|].
        destruct (Nat.eqb_spec j i); [lia|]. rewrite E, Nat.eqb_refl. simpl. apply Hneu; assumption.
      * rewrite paired_right by lia. unfold h. destruct (Nat.leb_spec (n - 1) j); [lia|].
        destruct (Nat.eqb_spec j i); [lia|]. rewrite E. destruct (Nat.eqb_spec (n + j) j); [lia|].
        simpl. apply Hneu; assumption.
    + intros p Hp. simpl in Hp. destruct (le_lt_dec (2 * n) p) as [Hb|Hb].
      * unfold paired. rewrite !written_beyond by exact Hb. reflexivity.
      * destruct (le_lt_dec n p) as [Hr|Hr].
        -- replace p with (n + (p - n)) by lia. rewrite !paired_right by lia. unfold h.
           destruct (Nat.leb_spec (n - 1) (p - n)); [reflexivity|]. destruct (Nat.eqb_spec (p - n) i); [|reflexivity].
           exfalso. apply Hp. lia.
        -- rewrite !paired_left by lia. unfold h. destruct (Nat.leb_spec (n - 1) p); [reflexivity|].
           destruct (Nat.eqb_spec p i); [|reflexivity]. exfalso. apply Hp. lia.
    + simpl in H. assert (Hp : p = i \/ p = n + i) by intuition lia.
      destruct Hp as [-> | ->]; [rewrite paired_left by lia | rewrite paired_right by lia];
        assert (Hb := Hlt z z Hz Hz i); [specialize (Hb false)|specialize (Hb true)];
        destruct (h z z i _) as [|[|?]]; simpl; auto; lia.
    + simpl in H. assert (Hp : p = i \/ p = n + i) by intuition lia.
      destruct Hp as [-> | ->]; [rewrite paired_left by lia | rewrite paired_right by lia];
        assert (Hb := Hlt w0 w1 H0 H1 i); [specialize (Hb false)|specialize (Hb true)];
        destruct (h w0 w1 i _) as [|[|?]]; simpl; auto; lia.
  - lia.
  - intros t Ht _ Ht'. unfold run_index, L'. simpl. apply (Hsolve t Ht Ht').
Qed.

(** Equality: b_n = 1 is last; neutral pairs are equal. *)
Theorem cannot_be_equal_hidden {A} (k n : N) (L : index_layer A) (yes : A -> bool) :
  (k + 2 <=? n)%N = true -> ~ compares_by same L (N.to_nat k) (N.to_nat n) yes.
Proof.
  intros H. apply N.leb_le in H.
  apply (cannot_compare_hidden same (fun x _ _ => x) 1 0 1); auto; try lia.
  intros x s Hx. repeat split; auto. apply Nat.eqb_refl.
Qed.

(** Disjointness: b_n = 0 is last; beside a 1 stands a 0. *)
Theorem cannot_be_disjoint_hidden {A} (k n : N) (L : index_layer A) (yes : A -> bool) :
  (k + 2 <=? n)%N = true -> ~ compares_by not_both L (N.to_nat k) (N.to_nat n) yes.
Proof.
  intros H. apply N.leb_le in H.
  apply (cannot_compare_hidden not_both (fun x s r => if Bool.eqb s r then x else 0) 0 1 1); auto; try lia.
  intros x s Hx. repeat split.
  - rewrite eqb_reflx. reflexivity.
  - intros r. destruct (Bool.eqb s r); lia.
  - destruct s, x as [|[|?]]; reflexivity || lia.
Qed.

(** ** Associative recall: n different keys, each followed by its value, then one of the keys *)
Definition key (t : list nat) (j : nat) : nat := token t (2 * j).
Definition recalled (n : nat) (t : list nat) : nat :=
  match find (fun j => key t j =? last t 0) (seq 0 n) with Some j => token t (2 * j + 1) | None => 0 end.
Definition asks_for_a_key (n V : nat) (t : list nat) : Prop :=
  Forall (fun x => x < V) t /\ NoDup (map (key t) (seq 0 n)) /\ In (last t 0) (map (key t) (seq 0 n)).
Definition recalls_by (L : index_layer nat) (k n V : nat) : Prop :=
  forall t, length t = 2 * n + 1 -> asks_for_a_key n V t -> run_index L k t = recalled n t.

Lemma find_one (f : nat -> bool) i l : In i l -> (forall j, In j l -> f j = true <-> j = i) -> find f l = Some i.
Proof.
  induction l as [|j l IH]; simpl; [contradiction|]. intros Hin H. destruct (f j) eqn:E.
  - f_equal. apply H; auto.
  - apply IH.
    + destruct Hin as [->|Hin]; [|exact Hin]. assert (f i = true) by (apply H; auto). congruence.
    + intros x Hx. apply H. auto.
Qed.

(** The values are groups of one token each; the i-th key is 0, which is asked for. *)
Theorem cannot_recall_hidden (k n V : N) (L : index_layer nat) :
  ((k + 1 <=? n) && (2 * n <=? V))%N = true ->
  ~ recalls_by L (N.to_nat k) (N.to_nat n) (N.to_nat V).
Proof.
  intros H. apply andb_true_iff in H. destruct H as [Hk HV]. apply N.leb_le in Hk, HV.
  assert (Hk' : N.to_nat k + 1 <= N.to_nat n) by lia. assert (HV' : 2 * N.to_nat n <= N.to_nat V) by lia.
  clear Hk HV. revert Hk' HV'. generalize (N.to_nat k) (N.to_nat n) (N.to_nat V). clear k n V.
  intros k n V Hk HV Hsolve.
  refine (hidden_tokens L (recalled n) (asks_for_a_key n V) (2 * n + 1) k n 0
    (fun j => (2 * j + 1, 0)) (fun j => [(2 * j + 1, 1)]) _ _ _ _ _).
  - intros i x Hi Hx. simpl in Hx. destruct Hx as [<-|[<-|[]]]; simpl; lia.
  - intros i j x y Hi Hj Hn Hx Hy. simpl in Hx, Hy.
    destruct Hx as [<-|[<-|[]]]; destruct Hy as [<-|[<-|[]]]; simpl; lia.
  - intros i f Hi Hf.
    assert (Hval : forall j, j < n -> j <> i -> snd (f j) < 2 /\ fst (f j) = 2 * j + 1).
    { intros j Hj Hn. specialize (Hf j Hj Hn). simpl in Hf. destruct Hf as [E|[E|[]]]; rewrite <- E; simpl; lia. }
    set (value := fun (c : nat) (j : nat) => if j =? i then c else snd (f j)).
    set (name := fun j => if j =? i then 0 else S j).
    set (text := fun c => written (2 * n + 1) (fun p =>
      if p =? 2 * n then 0 else if Nat.even p then name (Nat.div2 p) else value c (Nat.div2 p))).
    assert (Tk : forall c j, j < n -> key (text c) j = name j).
    { intros c j Hj. unfold key, text. rewrite written_token by lia. destruct (Nat.eqb_spec (2 * j) (2 * n)); [lia|].
      rewrite Nat.even_mul, Nat.div2_double. reflexivity. }
    assert (Tv : forall c j, j < n -> token (text c) (2 * j + 1) = value c j).
    { intros c j Hj. unfold text. rewrite written_token by lia. destruct (Nat.eqb_spec (2 * j + 1) (2 * n)); [lia|].
      rewrite Nat.even_add, Nat.even_mul. simpl Nat.even. cbn [xorb orb Bool.eqb].
      replace (2 * j + 1) with (S (2 * j)) by lia. rewrite Nat.div2_succ_double. reflexivity. }
    assert (Tl : forall c, last (text c) 0 = 0).
    { intros c. unfold text. rewrite written_last by lia. replace (2 * n + 1 - 1) with (2 * n) by lia.
      rewrite Nat.eqb_refl. reflexivity. }
    assert (Keys : forall c, map (key (text c)) (seq 0 n) = map name (seq 0 n)).
    { intros c. apply map_ext_in. intros j Hj. apply in_seq in Hj. apply Tk. lia. }
    assert (Ok : forall c, c < 2 -> asks_for_a_key n V (text c)).
    { intros c Hc. repeat split.
      - apply Forall_forall. intros x Hx. unfold text, written in Hx. apply in_map_iff in Hx.
        destruct Hx as [p [<- Hp]]. apply in_seq in Hp. destruct (Nat.eqb_spec p (2 * n)); [lia|].
        assert (Hd : Nat.div2 p < n) by (rewrite Nat.div2_div; apply Nat.div_lt_upper_bound; lia).
        destruct (Nat.even p).
        + unfold name. destruct (_ =? i); lia.
        + unfold value. destruct (Nat.eqb_spec (Nat.div2 p) i); [lia|]. destruct (Hval (Nat.div2 p)); [exact Hd|assumption|lia].
      - rewrite Keys.
        assert (Inj : forall x y, name x = name y -> x = y).
        { intros x y. unfold name. destruct (Nat.eqb_spec x i), (Nat.eqb_spec y i); lia. }
        generalize (seq_NoDup n 0). generalize (seq 0 n). clear - Inj. intros l.
        induction l as [|j l IH]; simpl; intros N; constructor; inversion N; subst.
        + intros Hc. apply in_map_iff in Hc. destruct Hc as [x [E Hx]]. apply Inj in E. subst. contradiction.
        + apply IH. assumption.
      - rewrite Keys, Tl. apply in_map_iff. exists i. split; [unfold name; rewrite Nat.eqb_refl; reflexivity|].
        apply in_seq. lia. }
    assert (Answer : forall c, recalled n (text c) = c).
    { intros c. unfold recalled. rewrite (find_one _ i).
      - rewrite Tv by exact Hi. unfold value. rewrite Nat.eqb_refl. reflexivity.
      - apply in_seq. lia.
      - intros j Hj. apply in_seq in Hj. rewrite Tl, Tk by lia. unfold name. rewrite Nat.eqb_eq.
        destruct (Nat.eqb_spec j i); lia. }
    exists (text 0), (text 1). repeat split; try (apply written_length); try apply Tl; try (apply Ok; lia).
    + rewrite !Answer. lia.
    + intros j Hj Hn. destruct (Hval j Hj Hn) as [Hs E]. rewrite E, Tv by exact Hj. unfold value.
      destruct (Nat.eqb_spec j i); [contradiction|reflexivity].
    + intros p Hp. simpl in Hp. destruct (le_lt_dec (2 * n + 1) p) as [Hb|Hb].
      * unfold text. rewrite !written_beyond by exact Hb. reflexivity.
      * unfold text. rewrite !written_token by exact Hb. destruct (Nat.eqb_spec p (2 * n)); [reflexivity|].
        destruct (Nat.even p) eqn:E; [reflexivity|]. unfold value. destruct (Nat.eqb_spec (Nat.div2 p) i); [|reflexivity].
        exfalso. apply Hp. left. subst i. assert (O : Nat.odd p = true) by (unfold Nat.odd; rewrite E; reflexivity).
        pose proof (Nat.div2_odd p) as D. rewrite O in D. simpl Nat.b2n in D. lia.
    + simpl in H. assert (E : p = 2 * i + 1) by intuition lia. subst p. rewrite Tv by exact Hi.
      unfold value. rewrite Nat.eqb_refl. simpl. auto.
    + simpl in H. assert (E : p = 2 * i + 1) by intuition lia. subst p. rewrite Tv by exact Hi.
      unfold value. rewrite Nat.eqb_refl. simpl. auto.
  - lia.
  - intros t Ht _ Hok. apply (Hsolve t Ht Hok).
Qed.

(** ** Counting: does s occur at least c times among n symbols below S?  The text is x_0 … x_{n-1}, s, c. *)
Definition counted (n : nat) (t : list nat) : bool := last t 0 <=? count_occ Nat.eq_dec (firstn n t) (token t n).
Definition counts_by {A} (L : index_layer A) (k n S : nat) (yes : A -> bool) : Prop :=
  forall t, length t = n + 2 -> (forall p, p < n + 1 -> token t p < S) -> 1 <= last t 0 <= n ->
  yes (run_index L k t) = counted n t.

(** Of n places, each with a pair of its own, the j whose pairs come last. *)
Lemma parted s (b : nat -> nat * nat) n : (forall p, fst (b p) = p) -> forall j, j <= n -> exists P D,
  Permutation (P ++ D) (seq 0 n) /\ length D = j /\ (forall p d, In p P -> In d D -> ahead s (b p) (b d) = true).
Proof.
  intros Hb. induction j as [|j IH]; intros Hj.
  - exists (seq 0 n), []. rewrite app_nil_r. repeat split; [apply Permutation_refl|]. intros p d _ [].
  - destruct IH as (P & D & Perm & Ld & H); [lia|].
    assert (ND : NoDup (P ++ D)) by (apply (Permutation_NoDup (Permutation_sym Perm)), seq_NoDup).
    assert (Lp : length P + length D = n) by (rewrite <- app_length, (Permutation_length Perm); apply seq_length).
    assert (HP : 0 < length P) by lia.
    assert (At : forall i, i < length P -> In (nth i P 0) P) by (intros i Hi; now apply nth_In).
    assert (NP : NoDup P).
    { clear - ND. induction P as [|x P IHP]; [constructor|]. inversion ND; subst. constructor; [|now apply IHP].
      intros Hx. apply H1, in_or_app. now left. }
    destruct (last_of s (fun i => b (nth i P 0)) (length P) HP) as (i & Hi & Hlast).
    { intros x y Hx Hy Hxy E. rewrite !Hb in E. apply Hxy. now apply (proj1 (NoDup_nth P 0) NP). }
    set (q := nth i P 0) in *. destruct (in_split q P (At i Hi)) as (l1 & l2 & EP).
    exists (l1 ++ l2), (q :: D). repeat split.
    + rewrite <- Perm, EP, <- !app_assoc. apply Permutation_app_head. cbn.
      apply Permutation_sym, Permutation_middle.
    + cbn. now rewrite Ld.
    + intros p d Hp [<-|Hd].
      * assert (Hin : In p P) by (rewrite EP; apply in_app_iff in Hp as [|]; apply in_or_app; [now left|right; now right]).
        destruct (In_nth P p 0 Hin) as (x & Hx & Ex). rewrite <- Ex. apply Hlast; [exact Hx|]. intros ->.
        rewrite EP in NP. apply NoDup_remove_2 in NP. apply NP. fold q in Ex. now rewrite Ex.
      * apply H; [|exact Hd]. rewrite EP. apply in_app_iff in Hp as [|]; apply in_or_app; [now left|right; now right].
Qed.

(** Some symbol is rare. *)
Definition counts (l m : list nat) : nat := fold_right (fun x r => count_occ Nat.eq_dec l x + r) 0 m.
Lemma counts_cons y l m : NoDup m ->
  counts (y :: l) m = (if in_dec Nat.eq_dec y m then 1 else 0) + counts l m.
Proof.
  induction m as [|x m IH]; intros N; [reflexivity|]. inversion N; subst. unfold counts in *. cbn [fold_right].
  rewrite IH by assumption. cbn [count_occ]. destruct (Nat.eq_dec y x) as [->|E].
  - destruct (in_dec Nat.eq_dec x m) as [|_]; [contradiction|].
    destruct (in_dec Nat.eq_dec x (x :: m)) as [_|Q]; [lia|elim Q; now left].
  - destruct (in_dec Nat.eq_dec y m) as [J|J], (in_dec Nat.eq_dec y (x :: m)) as [Q|Q]; try lia.
    + elim Q. now right.
    + destruct Q; [congruence|contradiction].
Qed.
Lemma counts_all l S : (forall x, In x l -> x < S) -> counts l (seq 0 S) = length l.
Proof.
  induction l as [|y l IH]; intros H; [induction (seq 0 S) as [|x m IHm]; [reflexivity|exact IHm]|].
  rewrite counts_cons by apply seq_NoDup. rewrite IH by (intros x Hx; apply H; now right). cbn [length].
  destruct (in_dec Nat.eq_dec y (seq 0 S)) as [|N]; [reflexivity|].
  exfalso. apply N, in_seq. specialize (H y (or_introl eq_refl)). lia.
Qed.
Lemma rare l S : 0 < S -> (forall x, In x l -> x < S) ->
  exists x, x < S /\ S * count_occ Nat.eq_dec l x <= length l.
Proof.
  intros HS Hl.
  assert (E : forall m, (exists x, In x m /\ S * count_occ Nat.eq_dec l x <= length l)
    \/ length m * (length l + 1) <= S * counts l m).
  { induction m as [|x m [(y & Hy & H)|H]]; [right; cbn; lia|left; exists y; split; [now right|exact H]|].
    destruct (le_lt_dec (S * count_occ Nat.eq_dec l x) (length l)); [left; exists x; split; [now left|assumption]|].
    right. unfold counts in *. cbn [length fold_right]. nia. }
  destruct (E (seq 0 S)) as [(x & Hx & H)|H].
  - exists x. apply in_seq in Hx. split; [lia|exact H].
  - rewrite counts_all, seq_length in H by exact Hl. nia.
Qed.
Lemma count_same x y (l : list nat) :
  count_occ Nat.eq_dec (map (fun _ => y) l) x = if Nat.eq_dec y x then length l else 0.
Proof. induction l as [|z l IH]; cbn [map count_occ length]; destruct (Nat.eq_dec y x); rewrite ?IH; reflexivity. Qed.
Lemma written_first n m f : n <= m -> firstn n (written m f) = map f (seq 0 n).
Proof.
  intros H. unfold written. rewrite firstn_map. f_equal. replace m with (n + (m - n)) by lia.
  rewrite seq_app, firstn_app, seq_length, Nat.sub_diag, app_nil_r. rewrite <- (seq_length n 0) at 1. apply firstn_all.
Qed.

(** The k places whose best symbols lead get these; one symbol is rare among them, and asked for.  All other places
    have it, or none has. *)
Theorem cannot_count_hidden {A} (k n S : N) (L : index_layer A) (yes : A -> bool) :
  ((k + k / S <? n) && (2 <=? S))%N = true -> ~ counts_by L (N.to_nat k) (N.to_nat n) (N.to_nat S) yes.
Proof.
  intros H. apply andb_true_iff in H. destruct H as [Hk HS]. apply N.ltb_lt in Hk. apply N.leb_le in HS.
  assert (Hk' : N.to_nat k + N.to_nat k / N.to_nat S < N.to_nat n) by (rewrite <- N2Nat.inj_div; lia).
  assert (HS' : 2 <= N.to_nat S) by lia. clear Hk HS. revert Hk' HS'.
  generalize (N.to_nat k) (N.to_nat n) (N.to_nat S). clear k n S. intros k n S Hk HS Hsolve.
  set (c := k / S + 1) in *. set (s := il_score L c).
  set (b := fun p => best s (p, 0) (map (pair p) (seq 1 (S - 1)))).
  assert (Pairs : forall p x : nat, x < S -> In (p, x) ((p, 0) :: map (pair p) (seq 1 (S - 1)))).
  { intros p [|x] Hx; [now left|right]. apply in_map, in_seq. lia. }
  assert (Hb : forall p, fst (b p) = p /\ snd (b p) < S).
  { intros p. assert (E : In (b p) ((p, 0) :: map (pair p) (seq 1 (S - 1)))) by apply best_in. destruct E as [E|E].
    - rewrite <- E. cbn. lia.
    - apply in_map_iff in E as (x & <- & Hx). apply in_seq in Hx. cbn. lia. }
  destruct (parted s b n (fun p => proj1 (Hb p)) (n - k)) as (P & D & Perm & Ld & Hah); [lia|].
  assert (Len : length P = k).
  { pose proof (Permutation_length Perm) as E. rewrite app_length, seq_length in E. lia. }
  assert (ND : NoDup (P ++ D)) by (apply (Permutation_NoDup (Permutation_sym Perm)), seq_NoDup).
  assert (Apart : forall p, In p P -> ~ In p D).
  { clear - ND. induction P as [|x P IH]; intros p Hp; [destruct Hp|]. inversion ND; subst. destruct Hp as [<-|Hp].
    - intros Hd. apply H1, in_or_app. now right.
    - now apply IH. }
  assert (NP : NoDup P).
  { clear - ND. induction P as [|x P IH]; [constructor|]. inversion ND; subst. constructor; [|now apply IH].
    intros Hx. apply H1, in_or_app. now left. }
  assert (In_n : forall p, In p (P ++ D) -> p < n).
  { intros p Hp. apply (Permutation_in _ Perm), in_seq in Hp. lia. }
  destruct (rare (map (fun p => snd (b p)) P) S) as (x & Hx & Rare); [lia| |].
  { intros y Hy. apply in_map_iff in Hy as (p & <- & _). apply Hb. }
  rewrite map_length, Len in Rare. assert (Few : count_occ Nat.eq_dec (map (fun p => snd (b p)) P) x <= k / S).
  { apply Nat.div_le_lower_bound; lia. }
  set (held := fun y p => if in_dec Nat.eq_dec p D then y else snd (b p)).
  set (text := fun y => written (n + 2) (fun p => if p <? n then held y p else if p =? n then x else c)).
  assert (Last : forall y, last (text y) 0 = c).
  { intros y. unfold text. rewrite written_last by lia. replace (n + 2 - 1) with (n + 1) by lia.
    destruct (Nat.ltb_spec (n + 1) n); [lia|]. destruct (Nat.eqb_spec (n + 1) n); [lia|reflexivity]. }
  assert (Tok : forall y p, p < n -> token (text y) p = held y p).
  { intros y p Hp. unfold text. rewrite written_token by lia. destruct (Nat.ltb_spec p n); [reflexivity|lia]. }
  assert (Asked : forall y, token (text y) n = x).
  { intros y. unfold text. rewrite written_token by lia. now rewrite Nat.ltb_irrefl, Nat.eqb_refl. }
  assert (Count : forall y, count_occ Nat.eq_dec (firstn n (text y)) x
    = count_occ Nat.eq_dec (map (fun p => snd (b p)) P) x + (if Nat.eq_dec y x then n - k else 0)).
  { intros y. unfold text. rewrite written_first by lia.
    rewrite (map_ext_in _ (held y)).
    2:{ intros p Hp. apply in_seq in Hp. destruct (Nat.ltb_spec p n); [reflexivity|lia]. }
    rewrite <- (proj1 (Permutation_count_occ Nat.eq_dec _ _) (Permutation_map (held y) Perm)).
    rewrite map_app, count_occ_app. f_equal.
    - f_equal. apply map_ext_in. intros p Hp. unfold held. destruct (in_dec Nat.eq_dec p D) as [E|]; [|reflexivity].
      now elim (Apart p Hp).
    - rewrite <- Ld, <- count_same. f_equal. apply map_ext_in. intros p Hp. unfold held.
      destruct (in_dec Nat.eq_dec p D); [reflexivity|contradiction]. }
  assert (Ok : forall y, y < S -> yes (run_index L k (text y)) = counted n (text y)).
  { intros y Hy. apply Hsolve.
    - apply written_length.
    - intros p Hp. destruct (Nat.eq_dec p n) as [->|Hn]; [now rewrite Asked|]. rewrite Tok by lia. unfold held.
      destruct (in_dec Nat.eq_dec p D); [exact Hy|apply Hb].
    - rewrite Last. unfold c. lia. }
  set (y := if x =? 0 then 1 else 0).
  assert (Hy : y < S /\ y <> x) by (unfold y; destruct (Nat.eqb_spec x 0); lia).
  assert (Same : run_index L k (text x) = run_index L k (text y)).
  { unfold run_index. rewrite !Last. f_equal. fold s. apply (hidden s k (text x) (text y) P D).
    - unfold text. now rewrite !written_length.
    - exact NP.
    - lia.
    - intros p Hp. split; [|now apply Apart]. unfold text. rewrite written_length.
      specialize (In_n p (in_or_app _ _ _ (or_introl Hp))). lia.
    - intros p Hp. destruct (le_lt_dec n p) as [Hn|Hn].
      + destruct (le_lt_dec (n + 2) p); [unfold text; now rewrite !written_beyond by assumption|].
        unfold text. rewrite !written_token by assumption. destruct (Nat.ltb_spec p n); [lia|reflexivity].
      + rewrite !Tok by exact Hn. unfold held. destruct (in_dec Nat.eq_dec p D); [contradiction|reflexivity].
    - intros p d Hp Hd. rewrite !Tok by (apply In_n, in_or_app; auto). unfold held.
      destruct (in_dec Nat.eq_dec p D) as [E|_]; [now elim (Apart p Hp)|].
      destruct (in_dec Nat.eq_dec d D) as [_|]; [|contradiction].
      assert (G : forall z, z < S -> ahead s (p, snd (b p)) (d, z) = true).
      { intros z Hz. replace (p, snd (b p)) with (b p) by (rewrite <- (proj1 (Hb p)) at 2; now destruct (b p)).
        apply (ahead_not_behind s (b p) (b d)); [now apply Hah|]. apply best_first, Pairs, Hz. }
      split; apply G; lia. }
  pose proof (Ok x Hx) as O1. pose proof (Ok y (proj1 Hy)) as O2. rewrite Same, O2 in O1. unfold counted in O1.
  rewrite !Last, !Asked, !Count in O1. destruct (Nat.eq_dec x x) as [_|]; [|congruence].
  destruct (Nat.eq_dec y x) as [|_]; [now elim (proj2 Hy)|].
  set (f := count_occ Nat.eq_dec (map (fun p => snd (b p)) P) x) in *.
  assert (Yes : c <=? f + (n - k) = true) by (apply Nat.leb_le; unfold c; lia).
  assert (No : c <=? f + 0 = false) by (apply Nat.leb_gt; unfold c; lia). congruence.
Qed.

(** ** Such layers exist: one that reads every token compares. *)
Lemma all_read s k t : length t < k -> view s k t = map (fun q => Some (token t q)) (seq 0 (length t)).
Proof.
  intros H. unfold view. apply map_ext. intros q.
  assert (R : forall (f : nat -> bool) l, length (filter f l) <= length l).
  { intros f l. induction l as [|x l IH]; simpl; [lia|]. destruct (f x); simpl; lia. }
  specialize (R (fun p => ahead s (p, token t p) (q, token t q)) (seq 0 (length t))). rewrite seq_length in R.
  unfold rank. destruct (Nat.ltb_spec (length (filter (fun p => ahead s (p, token t p) (q, token t q))
    (seq 0 (length t)))) k); [reflexivity|lia].
Qed.
Theorem reading_all_compares test n : compares_by test
  {| il_score := fun _ _ _ => 0%Z;
     il_answer := fun _ v => compared test n (map (fun x => match x with Some y => y | None => 0 end) v) |}
  (2 * n + 1) n (fun b => b).
Proof.
  intros t Ht _. unfold run_index. simpl il_answer. simpl il_score. rewrite all_read by lia.
  rewrite map_map. f_equal. apply (nth_ext _ _ 0 0); [rewrite map_length, seq_length; reflexivity|].
  intros p Hp. rewrite map_length, seq_length in Hp. apply (written_token (length t) (token t) p Hp).
Qed.
