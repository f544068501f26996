(** Counting tools: in-list-injective pigeonhole, collisions, words, subsets. *)
From Coq Require Import List Arith Lia Bool PeanoNat.
Import ListNotations.

Section Pigeon.
Context {A B : Type}.

Lemma map_NoDup_on (f : A -> B) (l : list A) :
  NoDup l ->
  (forall a b, In a l -> In b l -> f a = f b -> a = b) ->
  NoDup (map f l).
Proof.
  induction 1 as [|a l Ha Hl IH]; intros Hinj; simpl; constructor.
  - intros Hin. apply in_map_iff in Hin. destruct Hin as [b [E Hb]].
    apply Ha. replace a with b; [assumption|].
    apply Hinj; simpl; auto.
  - apply IH. intros x y Hx Hy; apply Hinj; simpl; auto.
Qed.

(** Pigeonhole, injective form; no decidability needed. *)
Lemma pigeon (f : A -> B) (l : list A) (K : list B) :
  NoDup l ->
  (forall a, In a l -> In (f a) K) ->
  (forall a b, In a l -> In b l -> f a = f b -> a = b) ->
  length l <= length K.
Proof.
  intros Hl Hin Hinj.
  rewrite <- (map_length f l).
  apply NoDup_incl_length.
  - apply map_NoDup_on; assumption.
  - intros b Hb. apply in_map_iff in Hb. destruct Hb as [a [<- Ha]]. auto.
Qed.
End Pigeon.

(** Pigeonhole, witness form: a collision is found. *)
Lemma collision {A} (f : A -> nat) (l : list A) (K : nat) :
  NoDup l -> (forall a, In a l -> f a < K) -> K < length l ->
  exists a b, In a l /\ In b l /\ a <> b /\ f a = f b.
Proof.
  intros Hl Hlt Hlen.
  assert (D : forall l', incl l' l -> NoDup l' ->
     (exists a b, In a l' /\ In b l' /\ a <> b /\ f a = f b) \/ NoDup (map f l')).
  { induction l' as [|a l' IH]; intros Hi Hn; [right; constructor|].
    inversion Hn as [|? ? Ha Hn']; subst.
    destruct IH as [[x [y [Hx [Hy [Hxy E]]]]]|IH].
    - intros z Hz; apply Hi; simpl; auto.
    - assumption.
    - left. exists x, y. simpl; auto.
    - destruct (in_dec Nat.eq_dec (f a) (map f l')) as [Hin|Hni].
      + left. apply in_map_iff in Hin. destruct Hin as [b [E Hb]].
        exists a, b. simpl. repeat split; auto. intros ->; contradiction.
      + right. simpl. constructor; assumption. }
  destruct (D l (incl_refl l) Hl) as [H|H]; [assumption|exfalso].
  assert (length (map f l) <= length (seq 0 K)).
  { apply NoDup_incl_length; [assumption|].
    intros b Hb. apply in_map_iff in Hb. destruct Hb as [a [<- Ha]].
    apply in_seq. specialize (Hlt a Ha). lia. }
  rewrite map_length, seq_length in *. lia.
Qed.

(** All words of length n over the list [al]. *)
Section Words.
Context {A : Type}.
Fixpoint words (n : nat) (al : list A) : list (list A) :=
  match n with
  | 0 => [[]]
  | S n => flat_map (fun a => map (cons a) (words n al)) al
  end.

Lemma length_flat_map_const {X Y} (f : X -> list Y) k (l : list X) :
  (forall x, In x l -> length (f x) = k) -> length (flat_map f l) = length l * k.
Proof.
  induction l as [|x l IH]; intros H; simpl; [reflexivity|].
  rewrite app_length, IH, H; simpl; auto. intros; apply H; simpl; auto.
Qed.

Lemma words_length n al : length (words n al) = length al ^ n.
Proof.
  induction n as [|n IH]; simpl; [reflexivity|].
  rewrite length_flat_map_const with (k := length al ^ n); [reflexivity|].
  intros. rewrite map_length; assumption.
Qed.

Lemma in_words n al w : In w (words n al) <-> length w = n /\ Forall (fun a => In a al) w.
Proof.
  revert w; induction n as [|n IH]; intros w; simpl.
  - split.
    + intros [<-|[]]; split; constructor.
    + intros [H _]. destruct w; [auto|discriminate].
  - rewrite in_flat_map. split.
    + intros [a [Ha Hw]]. apply in_map_iff in Hw. destruct Hw as [u [<- Hu]].
      apply IH in Hu. destruct Hu. simpl; split; [lia|constructor; assumption].
    + intros [H F]. destruct w as [|a u]; [discriminate|].
      inversion F; subst. exists a; split; [assumption|].
      apply in_map. apply IH. split; [simpl in H; lia|assumption].
Qed.

Lemma NoDup_app_intro {X} (l l' : list X) :
  NoDup l -> NoDup l' -> (forall x, In x l -> ~ In x l') -> NoDup (l ++ l').
Proof.
  induction 1 as [|a l Ha Hl IH]; intros H' D; simpl; [assumption|].
  constructor.
  - rewrite in_app_iff. intros [?|?]; [contradiction|]. apply (D a); simpl; auto.
  - apply IH; [assumption|]. intros x Hx; apply D; simpl; auto.
Qed.

Lemma words_NoDup n al : NoDup al -> NoDup (words n al).
Proof.
  intros Hal. induction n as [|n IH]; simpl; [repeat constructor; auto|].
  assert (G : forall l, NoDup l -> NoDup (flat_map (fun a => map (cons a) (words n al)) l)).
  { intros l Hl. induction Hl as [|a l Ha Hl IHl]; simpl; [constructor|].
    apply NoDup_app_intro; [|assumption|].
    - apply map_NoDup_on; [assumption|]. intros ? ? _ _ E; injection E; auto.
    - intros x Hx Hy. apply in_map_iff in Hx. destruct Hx as [u [<- _]].
      apply in_flat_map in Hy. destruct Hy as [b [Hb Hy]].
      apply in_map_iff in Hy. destruct Hy as [v [E _]]. injection E; intros; subst; auto. }
  apply G. assumption.
Qed.
End Words.

(** Two words of equal length agreeing at each position are equal. *)
Lemma nth_ext_on {A} (d : A) (u v : list A) n :
  length u = n -> length v = n -> (forall i, i < n -> nth i u d = nth i v d) -> u = v.
Proof.
  intros Hu Hv H. apply nth_ext with (d := d) (d' := d); [lia|].
  intros i Hi. apply H; lia.
Qed.

Definition nwords n V := words n (seq 0 V).      (* functions [n] -> [V] *)
Definition bwords n := words n [true; false].    (* bit strings of length n *)

Lemma nwords_length n V : length (nwords n V) = V ^ n.
Proof. unfold nwords. rewrite words_length, seq_length. reflexivity. Qed.
Lemma nwords_NoDup n V : NoDup (nwords n V).
Proof. apply words_NoDup, seq_NoDup. Qed.
Lemma in_nwords n V w : In w (nwords n V) <-> length w = n /\ Forall (fun a => a < V) w.
Proof.
  unfold nwords. rewrite in_words. split; intros [H F]; split; auto;
    eapply Forall_impl; try eassumption; intros a; rewrite in_seq; simpl; lia.
Qed.
Lemma bwords_length n : length (bwords n) = 2 ^ n.
Proof. unfold bwords. rewrite words_length. reflexivity. Qed.
Lemma bwords_NoDup n : NoDup (bwords n).
Proof.
  apply words_NoDup. repeat constructor; simpl; intuition discriminate.
Qed.
Lemma in_bwords n w : In w (bwords n) <-> length w = n.
Proof.
  unfold bwords. rewrite in_words. split; [tauto|]. intros H; split; [assumption|].
  apply Forall_forall. intros [|] _; simpl; auto.
Qed.

(** B-subsets of [M] as characteristic vectors; Pascal's rule. *)
Fixpoint binom (n k : nat) : nat :=
  match k, n with
  | 0, _ => 1
  | S _, 0 => 0
  | S k', S n' => binom n' k' + binom n' k
  end.

Fixpoint subsets (M B : nat) : list (list bool) :=
  match M, B with
  | 0, 0 => [[]]
  | 0, S _ => []
  | S M', 0 => map (cons false) (subsets M' 0)
  | S M', S B' => map (cons true) (subsets M' B') ++ map (cons false) (subsets M' B)
  end.

Fixpoint popc (u : list bool) : nat :=
  match u with [] => 0 | true :: u => S (popc u) | false :: u => popc u end.

Lemma binom_0 n : binom n 0 = 1. Proof. destruct n; reflexivity. Qed.

Lemma subsets_length M B : length (subsets M B) = binom M B.
Proof.
  revert B; induction M as [|M IH]; intros [|B]; simpl; auto.
  - rewrite map_length, IH. apply binom_0.
  - rewrite app_length, !map_length, !IH. reflexivity.
Qed.

Lemma subsets_NoDup M B : NoDup (subsets M B).
Proof.
  revert B; induction M as [|M IH]; intros [|B]; simpl.
  - repeat constructor; auto.
  - constructor.
  - apply map_NoDup_on; [apply IH|]. intros ? ? _ _ E; injection E; auto.
  - apply NoDup_app_intro.
    + apply map_NoDup_on; [apply IH|]. intros ? ? _ _ E; injection E; auto.
    + apply map_NoDup_on; [apply IH|]. intros ? ? _ _ E; injection E; auto.
    + intros x Hx Hy. apply in_map_iff in Hx, Hy.
      destruct Hx as [u [<- _]], Hy as [v [E _]]. discriminate.
Qed.

Lemma in_subsets M B u : In u (subsets M B) -> length u = M /\ popc u = B.
Proof.
  revert B u; induction M as [|M IH]; intros [|B] u; simpl.
  - intros [<-|[]]; auto.
  - intros [].
  - intros H. apply in_map_iff in H. destruct H as [v [<- Hv]].
    destruct (IH _ _ Hv). simpl; auto.
  - intros H. apply in_app_iff in H. destruct H as [H|H];
      apply in_map_iff in H; destruct H as [v [<- Hv]]; destruct (IH _ _ Hv); simpl; auto.
Qed.

Lemma subset_diff u v :
  length u = length v -> popc v <= popc u -> u <> v ->
  exists i, i < length u /\ nth i u false = true /\ nth i v false = false.
Proof.
  revert v; induction u as [|a u IH]; intros [|b v] HL HP HN; simpl in *; try lia.
  - congruence.
  - destruct a, b.
    + destruct (IH v) as [i [H1 [H2 H3]]]; try lia; [congruence|].
      exists (S i); simpl; repeat split; auto; lia.
    + exists 0; simpl; repeat split; auto; lia.
    + destruct (IH v) as [i [H1 [H2 H3]]]; try lia.
      * intros ->; lia.
      * exists (S i); simpl; repeat split; auto; lia.
    + destruct (IH v) as [i [H1 [H2 H3]]]; try lia; [congruence|].
      exists (S i); simpl; repeat split; auto; lia.
Qed.

Lemma filter_split {A} (p : A -> bool) (l : list A) :
  length l = length (filter p l) + length (filter (fun a => negb (p a)) l).
Proof. induction l as [|a l IH]; simpl; [lia|]. destruct (p a); simpl; lia. Qed.

Lemma filter_all {A} (p : A -> bool) (l : list A) :
  (forall a, In a l -> p a = true) -> filter p l = l.
Proof.
  induction l as [|a l IH]; intros H; simpl; [reflexivity|].
  rewrite (H a) by (simpl; auto). f_equal. apply IH. intros; apply H; simpl; auto.
Qed.

Lemma filter_mono {A} (p q : A -> bool) (l : list A) :
  (forall a, In a l -> p a = true -> q a = true) ->
  length (filter p l) <= length (filter q l).
Proof.
  induction l as [|a l IH]; intros H; simpl; [lia|].
  assert (length (filter p l) <= length (filter q l)) by (apply IH; intros; apply H; simpl; auto).
  destruct (p a) eqn:E; [rewrite (H a) by (simpl; auto); simpl; lia|].
  destruct (q a); simpl; lia.
Qed.

Lemma filter_NoDup {A} (p : A -> bool) (l : list A) : NoDup l -> NoDup (filter p l).
Proof. apply NoDup_filter. Qed.

(** Most popular value. *)
Lemma popular {A} (f : A -> nat) (K : nat) (l : list A) :
  (forall a, In a l -> f a < K) -> 0 < K ->
  exists c, c < K /\ length l <= K * length (filter (fun a => f a =? c) l).
Proof.
  revert l. induction K as [|K IH]; intros l H HK; [lia|].
  destruct (le_lt_dec (length l) (S K * length (filter (fun a => f a =? K) l))) as [L|L].
  - exists K; split; [lia|assumption].
  - destruct K as [|K].
    + exfalso. rewrite (filter_all (fun a => f a =? 0) l) in L; [lia|].
      intros a Ha. apply Nat.eqb_eq. specialize (H a Ha). lia.
    + set (l' := filter (fun a => negb (f a =? S K)) l).
      destruct (IH l') as [c [Hc HL]]; [|lia|].
      * intros a Ha. apply filter_In in Ha. destruct Ha as [Ha Hb].
        specialize (H a Ha). apply negb_true_iff, Nat.eqb_neq in Hb. lia.
      * exists c; split; [lia|].
        assert (E1 : length l = length (filter (fun a => f a =? S K) l) + length l').
        { unfold l'. apply filter_split. }
        assert (E2 : length (filter (fun a => f a =? c) l') <= length (filter (fun a => f a =? c) l)).
        { unfold l'. clear. induction l as [|a l IHl]; simpl; [lia|].
          destruct (f a =? S K); simpl; destruct (f a =? c); simpl; lia. }
        nia.
Qed.

(** ** Averaging *)
Definition lsum {A} (g : A -> nat) (l : list A) := list_sum (map g l).

Lemma lsum_cons {A} (g : A -> nat) a l : lsum g (a :: l) = g a + lsum g l.
Proof. reflexivity. Qed.
Lemma lsum_ge {A} (g : A -> nat) T l : (forall a, In a l -> T <= g a) -> length l * T <= lsum g l.
Proof.
  induction l as [|a l IH]; intros H; [simpl; lia|]. rewrite lsum_cons. simpl length.
  pose proof (H a (or_introl eq_refl)). specialize (IH (fun x Hx => H x (or_intror Hx))). lia.
Qed.
Lemma exists_ge {A} (g : A -> nat) T l :
  0 < length l -> length l * T <= lsum g l -> exists a, In a l /\ T <= g a.
Proof.
  induction l as [|a l IH]; intros H0 H; simpl in H0; [lia|].
  destruct (le_lt_dec T (g a)) as [L|L]; [exists a; simpl; auto|].
  rewrite lsum_cons in H. simpl length in H.
  destruct l as [|b l]; [unfold lsum in H; simpl in H; lia|].
  destruct IH as [x [Hx Hg]]; [simpl; lia|lia|]. exists x; simpl in *; auto.
Qed.
Lemma double_count {A B} (R : A -> B -> bool) (l : list A) (s : list B) :
  lsum (fun a => length (filter (R a) s)) l = lsum (fun b => length (filter (fun a => R a b) l)) s.
Proof.
  induction l as [|a l IH].
  - simpl. induction s as [|b s IHs]; [reflexivity|]. rewrite lsum_cons, <- IHs. reflexivity.
  - rewrite lsum_cons, IH. clear IH. induction s as [|b s IHs]; [reflexivity|].
    rewrite !lsum_cons, <- IHs. simpl. destruct (R a b); simpl; lia.
Qed.
Lemma averaging {A B} (R : A -> B -> bool) (l : list A) (s : list B) Q :
  0 < length l -> (forall b, In b s -> length l <= Q * length (filter (fun a => R a b) l)) ->
  exists a, In a l /\ length s <= Q * length (filter (R a) s).
Proof.
  intros H0 H. apply (exists_ge (fun a => Q * length (filter (R a) s))); [assumption|].
  assert (E : forall X (g : X -> nat) (k : list X), lsum (fun a => Q * g a) k = Q * lsum g k).
  { intros X g k. induction k as [|x k IHk]; [unfold lsum; simpl; lia|]. rewrite !lsum_cons, IHk. lia. }
  rewrite (E _ (fun a => length (filter (R a) s))), double_count, <- E.
  rewrite Nat.mul_comm. apply lsum_ge. exact H.
Qed.

(** Popular value for a decidable, total, bounded relation. *)
Lemma popular_rel {A} (P : A -> nat -> bool) K (l : list A) :
  0 < K -> (forall a, In a l -> exists c, c < K /\ P a c = true) ->
  exists c, c < K /\ length l <= K * length (filter (fun a => P a c) l).
Proof.
  intros HK H.
  set (f := fun a => match find (P a) (seq 0 K) with Some c => c | None => 0 end).
  assert (Hf : forall a, In a l -> f a < K /\ P a (f a) = true).
  { intros a Ha. unfold f. destruct (find (P a) (seq 0 K)) as [c|] eqn:E.
    - apply find_some in E. destruct E as [E1 E2]. apply in_seq in E1. split; [lia|assumption].
    - exfalso. destruct (H a Ha) as [c [Hc Pc]].
      pose proof (find_none _ _ E c) as G. rewrite G in Pc; [discriminate|]. apply in_seq; lia. }
  destruct (popular f K l) as [c [Hc HL]]; [intros; apply Hf; assumption|assumption|].
  exists c; split; [assumption|]. etransitivity; [exact HL|]. apply Nat.mul_le_mono_l.
  apply filter_mono. intros a Ha E. apply Nat.eqb_eq in E. subst c. apply Hf; assumption.
Qed.

Lemma NoDup_prod {A B} (l : list A) (l' : list B) : NoDup l -> NoDup l' -> NoDup (list_prod l l').
Proof.
  intros H H'. induction H as [|a l Ha Hl IH]; simpl; [constructor|].
  apply NoDup_app_intro; [|assumption|].
  - apply map_NoDup_on; [assumption|]. intros ? ? _ _ E; injection E; auto.
  - intros x Hx Hy. apply in_map_iff in Hx. destruct Hx as [b [<- _]].
    apply in_prod_iff in Hy. tauto.
Qed.

Definition memb (x : nat) (l : list nat) : bool := if in_dec Nat.eq_dec x l then true else false.
Lemma memb_true x l : memb x l = true <-> In x l.
Proof. unfold memb. destruct (in_dec Nat.eq_dec x l); split; intros; auto; discriminate. Qed.
Lemma memb_false x l : memb x l = false <-> ~ In x l.
Proof. unfold memb. destruct (in_dec Nat.eq_dec x l); split; intros; auto; try discriminate; contradiction. Qed.

Lemma forallb_false {A} (p : A -> bool) l : forallb p l = false -> exists a, In a l /\ p a = false.
Proof.
  induction l as [|a l IH]; simpl; [discriminate|]. destruct (p a) eqn:E; simpl.
  - intros H. destruct (IH H) as [b [Hb Hp]]. eauto.
  - intros _. eauto.
Qed.

Lemma nwords_nth n V w i : In w (nwords n V) -> i < n -> nth i w 0 < V.
Proof.
  intros H Hi. apply in_nwords in H. destruct H as [L F]. rewrite Forall_forall in F.
  apply F, nth_In. lia.
Qed.

(** Index of a state in the enumeration. *)
Section Code.
Context {S : Type} (dec : forall a b : S, {a = b} + {a <> b}).
Fixpoint idx (l : list S) (s : S) : nat :=
  match l with [] => 0 | a :: l => if dec a s then 0 else Datatypes.S (idx l s) end.
Lemma idx_lt l s : In s l -> idx l s < length l.
Proof. induction l as [|a l IH]; simpl; [tauto|]. destruct (dec a s); [lia|].
  intros [?|H]; [contradiction|]. specialize (IH H). lia. Qed.
Lemma idx_nth l s d : In s l -> nth (idx l s) l d = s.
Proof. induction l as [|a l IH]; simpl; [tauto|]. destruct (dec a s); [auto|].
  intros [?|H]; [contradiction|]. auto. Qed.
Definition code l s := if in_dec dec s l then idx l s else 0.
Lemma code_lt l s : 0 < length l -> code l s < length l.
Proof. unfold code. destruct (in_dec dec s l); auto using idx_lt. Qed.
Lemma code_nth l s d : In s l -> nth (code l s) l d = s.
Proof. intros H. unfold code. destruct (in_dec dec s l); [auto using idx_nth|contradiction]. Qed.
End Code.

(** Most popular value, of any type that can be listed. *)
Lemma popular_in {A S} (dec : forall a b : S, {a = b} + {a <> b}) (f : A -> S) (Ls : list S) (l : list A) :
  l <> [] -> (forall a, In a l -> In (f a) Ls) ->
  exists c, length l <= length Ls * length (filter (fun a => if dec (f a) c then true else false) l).
Proof.
  intros Hl H. destruct l as [|a0 l0]; [congruence|]. set (l := a0 :: l0) in *.
  assert (P : 0 < length Ls).
  { specialize (H a0 (or_introl eq_refl)). destruct Ls; [destruct H|simpl; lia]. }
  destruct (popular (fun a => idx dec Ls (f a)) (length Ls) l) as [c [Hc L]].
  { intros a Ha. apply idx_lt, H, Ha. } { exact P. }
  exists (nth c Ls (f a0)). etransitivity; [exact L|]. apply Nat.mul_le_mono_l, filter_mono.
  intros a Ha E. apply Nat.eqb_eq in E. subst c. rewrite idx_nth by (apply H, Ha).
  destruct (dec (f a) (f a)); [reflexivity|contradiction].
Qed.

(** One witness for each of finitely many. *)
Lemma finite_choice {X} (P : nat -> X -> Prop) (x0 : X) n :
  (forall i, i < n -> exists x, P i x) -> exists f, forall i, i < n -> P i (f i).
Proof.
  induction n as [|n IH]; intros H; [exists (fun _ => x0); intros; lia|].
  destruct IH as [f Hf]; [intros; apply H; lia|]. destruct (H n (Nat.lt_succ_diag_r n)) as [x Hx].
  exists (fun i => if i =? n then x else f i). intros i Hi. destruct (i =? n) eqn:E.
  - apply Nat.eqb_eq in E. subst; assumption.
  - apply Nat.eqb_neq in E. apply Hf. lia.
Qed.

(** ** Means *)
Lemma bernoulli u v n : S n * u * v ^ n <= u ^ S n + n * v ^ S n.
Proof.
  induction n as [|n IH]; [simpl; lia|].
  assert (R : u ^ S n * v + u * v ^ S n <= u ^ S n * u + v ^ S n * v).
  { destruct (le_lt_dec u v) as [L|L].
    - pose proof (Nat.pow_le_mono_l u v (S n) L). nia.
    - pose proof (Nat.pow_le_mono_l v u (S n) ltac:(lia)). nia. }
  apply (Nat.mul_le_mono_r _ _ v) in IH.
  rewrite (Nat.pow_succ_r' u (S n)), (Nat.pow_succ_r' v (S n)).
  assert (E : S n * u * v ^ n * v = S n * (u * v ^ S n)) by (rewrite (Nat.pow_succ_r' v n); ring).
  assert (E' : S (S n) * u * v ^ S n = S n * (u * v ^ S n) + u * v ^ S n) by ring.
  rewrite E in IH. rewrite E'. nia.
Qed.

Definition lprod (l : list nat) : nat := fold_right Nat.mul 1 l.

Lemma mean_step n s a : 0 < n -> S n ^ S n * (s ^ n * a) <= n ^ n * (s + a) ^ S n.
Proof.
  intros Hn. apply (Nat.mul_le_mono_pos_l _ _ n Hn).
  pose proof (bernoulli (n * (s + a)) (S n * s) n) as B.
  rewrite (Nat.pow_mul_l n (s + a) (S n)) in B.
  rewrite (Nat.pow_succ_r' (S n * s)), (Nat.pow_mul_l (S n) s n) in B.
  rewrite (Nat.pow_succ_r' n n) in B. rewrite (Nat.pow_succ_r' (S n) n).
  set (p := S n ^ n) in *. set (q := s ^ n) in *. set (r := (s + a) ^ S n) in *. set (t := n ^ n) in *.
  assert (E : S n * (n * (s + a)) * (p * q) = n * (S n * s * (p * q)) + n * (S n * p * (q * a))) by ring.
  rewrite E in B. nia.
Qed.

(** The mean is at least the geometric mean. *)
Lemma amgm l : length l ^ length l * lprod l <= list_sum l ^ length l.
Proof.
  induction l as [|a l IH]; [simpl; lia|].
  change (length (a :: l)) with (S (length l)). change (lprod (a :: l)) with (a * lprod l).
  change (list_sum (a :: l)) with (a + list_sum l).
  destruct l as [|a' l']; [simpl; lia|]. set (l := a' :: l') in *. set (n := length l) in *.
  assert (Hn : 0 < n) by (unfold n, l; simpl; lia).
  assert (P : 0 < n ^ n) by (pose proof (Nat.pow_nonzero n n); lia).
  apply (Nat.mul_le_mono_pos_l _ _ (n ^ n) P).
  pose proof (mean_step n (list_sum l) a Hn) as M. rewrite (Nat.add_comm (list_sum l) a) in M.
  etransitivity; [|exact M]. apply (Nat.mul_le_mono_r _ _ (S n ^ S n * a)) in IH.
  etransitivity; [|etransitivity; [exact IH|]]; apply Nat.eq_le_incl; ring.
Qed.

(** Words whose i-th letter is in the i-th list. *)
Fixpoint boxes {A} (ls : list (list A)) : list (list A) :=
  match ls with
  | [] => [[]]
  | l :: ls => flat_map (fun a => map (cons a) (boxes ls)) l
  end.
Lemma boxes_length {A} (ls : list (list A)) : length (boxes ls) = lprod (map (@length A) ls).
Proof.
  induction ls as [|l ls IH]; [reflexivity|]. simpl.
  rewrite length_flat_map_const with (k := length (boxes ls)); [rewrite IH; reflexivity|].
  intros. apply map_length.
Qed.
Lemma in_boxes {A} (d : A) (ls : list (list A)) : forall w, length w = length ls ->
  (forall i, i < length ls -> In (nth i w d) (nth i ls [])) -> In w (boxes ls).
Proof.
  induction ls as [|l ls IH]; intros [|a w] L H; simpl in *; try discriminate; [auto|].
  apply in_flat_map. exists a. split; [apply (H 0); lia|]. apply in_map. apply IH; [lia|].
  intros i Hi. apply (H (S i)). lia.
Qed.

(** ** Sums *)
Lemma lsum_swap {A B} (g : A -> B -> nat) l l' :
  lsum (fun a => lsum (g a) l') l = lsum (fun b => lsum (fun a => g a b) l) l'.
Proof.
  induction l as [|a l IH].
  - induction l' as [|b l' IH']; [reflexivity|]. rewrite lsum_cons, <- IH'. reflexivity.
  - rewrite lsum_cons, IH. clear. induction l' as [|b l' IH]; [reflexivity|]. rewrite !lsum_cons, <- IH. lia.
Qed.
Lemma lsum_le {A} (f g : A -> nat) l : (forall a, In a l -> f a <= g a) -> lsum f l <= lsum g l.
Proof.
  induction l as [|a l IH]; intros H; [apply le_n|]. rewrite !lsum_cons. apply Nat.add_le_mono; [apply H; left; reflexivity|].
  apply IH. intros b Hb. apply H. right. exact Hb.
Qed.
Lemma lsum_mul {A} k (f : A -> nat) l : lsum (fun a => k * f a) l = k * lsum f l.
Proof. induction l as [|a l IH]; [unfold lsum; simpl; lia|]. rewrite !lsum_cons, IH. lia. Qed.
Lemma lsum_add {A} (f g : A -> nat) l : lsum (fun a => f a + g a) l = lsum f l + lsum g l.
Proof. induction l as [|a l IH]; [reflexivity|]. rewrite !lsum_cons, IH. lia. Qed.
Lemma lsum_const {A} k (l : list A) : lsum (fun _ => k) l = length l * k.
Proof. induction l as [|a l IH]; [reflexivity|]. rewrite lsum_cons, IH. reflexivity. Qed.
Lemma lsum_filter {A} (p : A -> bool) l : lsum (fun a => if p a then 1 else 0) l = length (filter p l).
Proof. induction l as [|a l IH]; [reflexivity|]. rewrite lsum_cons, IH. simpl. destruct (p a); reflexivity. Qed.
Lemma lsum_ext {A} (f g : A -> nat) l : (forall a, In a l -> f a = g a) -> lsum f l = lsum g l.
Proof. intros H. apply Nat.le_antisymm; apply lsum_le; intros a Ha; rewrite H by exact Ha; apply le_n. Qed.
