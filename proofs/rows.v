(** Rows of other tasks, for machines that read once: prefixes of t tokens that some question tells apart.
    2-Sum, 3-Sum, recall, averages, counting, and the comparisons at any cut.  Each is cut_bound of streaming_state.v with words
    over an alphabet of V symbols, so that V^k rows are counted with few digits; there may be more rows (all
    sets, all multisets), which are counted in Python.  Log-linear attention has its few bits after 2^r
    tokens: the same theorems at t = 2^r. *)
From Coq Require Import List Arith Lia Bool PeanoNat NArith Sorted.
Import ListNotations.
From Limen Require Import counting powers streaming_state log_linear_state.

(** The machine reads xs, thinks aloud as long as it likes, and answers a. *)
Definition tells {Ans} (M : machine Ans) (xs : list (Token M)) (a : Ans) : Prop :=
  cot (next M) (writes M) (stops M) 0 (run (start M) (next M) xs) a.

Lemma rows {Ans X Y} (M : machine Ans) t s (F : list X) (W : list Y) enc ask truth :
  memory_bits M t s -> NoDup F -> (forall u, In u F -> length (enc u) = t) -> (forall w, In w W -> ask w <> []) ->
  (forall u w, In u F -> In w W -> tells M (enc u ++ ask w) (truth u w)) ->
  (forall u v, In u F -> In v F -> (forall w, In w W -> truth u w = truth v w) -> u = v) -> length F <= 2 ^ s.
Proof.
  intros [states [L Hm]] HF Ht Ha Hc Hs. etransitivity; [|exact L].
  apply (cut_bound (start M) (next M) (cot (next M) (writes M) (stops M) 0) (cot_fun _ _ _ 0) F W enc ask truth);
    auto.
Qed.

(** After 2^r tokens log-linear attention is a machine of s bits. *)
Lemma merged_memory {Ans} (M : log_linear Ans) r s : merged_bits M r s -> memory_bits (machine_of M) (2 ^ r) s.
Proof.
  intros [Ls [Lr [HL Hc]]]. exists (map (fun p => ([(r, fst p)], snd p)) (list_prod Ls Lr)). split.
  - rewrite map_length, prod_length. exact HL.
  - intros u Lu. destruct (one_level M r u Lu) as [x [o E]]. rewrite E. apply in_map_iff. exists (x, o).
    split; [reflexivity|]. apply in_prod; apply (Hc u x o Lu E).
Qed.

Lemma wrv_split {Tok} (value : nat -> nat -> Tok) f g : wrv value 0 (f ++ g) = wrv value 0 f ++ wrv value (length f) g.
Proof. rewrite wrv_app. reflexivity. Qed.
Lemma Forall_repeat {A} (P : A -> Prop) a n : P a -> Forall P (repeat a n).
Proof. intros H. induction n; simpl; constructor; assumption. Qed.

(** ** 2-Sum: after n numbers below m one more is asked about: does one of them make a sum of 0 with it? *)
Definition sums_to_zero (M : machine bool) (n m : nat) : Prop :=
  exists number query, (forall q, query q <> []) /\ forall xs q, length xs = n -> Forall (fun x => x < m) xs -> q < m ->
    tells M (wrv number 0 xs ++ query q) (existsb (fun x => (x + q) mod m =? 0) xs).

(** The i-th of t numbers is one of V of its own, and never 0. *)
Fixpoint spread (V i : nat) (f : list nat) : list nat :=
  match f with [] => [] | v :: f => (1 + i * V + v) :: spread V (S i) f end.
Lemma spread_length V f : forall i, length (spread V i f) = length f.
Proof. induction f as [|v f IH]; intros i; simpl; auto. Qed.
Lemma spread_below V f : Forall (fun v => v < V) f -> forall i b, (i + length f) * V < b ->
  Forall (fun x => x < b) (spread V i f).
Proof.
  induction 1 as [|v f Hv Hf IH]; intros i b Hb; cbn [spread length] in *; constructor.
  - nia.
  - apply IH. nia.
Qed.
Lemma spread_found V f : Forall (fun v => v < V) f -> forall j i v, v < V -> j <= i < j + length f ->
  existsb (fun x => x =? 1 + i * V + v) (spread V j f) = (nth (i - j) f 0 =? v).
Proof.
  induction 1 as [|u f Hu Hf IH]; intros j i v Hv Hi; cbn [length] in Hi; [lia|]. cbn [spread existsb].
  destruct (Nat.eq_dec i j) as [->|N].
  - rewrite Nat.sub_diag. cbn [nth].
    replace (1 + j * V + u =? 1 + j * V + v) with (u =? v)
      by (destruct (u =? v) eqn:E; symmetry; [apply Nat.eqb_eq in E; apply Nat.eqb_eq; lia
         |apply Nat.eqb_neq in E; apply Nat.eqb_neq; lia]).
    destruct (u =? v); [reflexivity|]. simpl. clear IH Hi.
    assert (G : forall k, j < k -> existsb (fun x => x =? S (j * V + v)) (spread V k f) = false).
    { clear Hu. induction Hf as [|u' f Hu' Hf IH]; intros k Hk; [reflexivity|]. cbn [spread existsb].
      rewrite IH by lia. rewrite orb_false_r. apply Nat.eqb_neq. nia. }
    apply G. lia.
  - replace (1 + j * V + u =? 1 + i * V + v) with false by (symmetry; apply Nat.eqb_neq; nia).
    rewrite orb_false_l, IH by lia. replace (i - j) with (S (i - S j)) by lia. reflexivity.
Qed.
Lemma partner m x y : x < m -> 0 < y < m -> ((x + (m - y)) mod m =? 0) = (x =? y).
Proof.
  intros Hx Hy. destruct (x =? y) eqn:E.
  - apply Nat.eqb_eq in E. subst. apply Nat.eqb_eq. replace (y + (m - y)) with (1 * m) by lia. apply Nat.mod_mul. lia.
  - apply Nat.eqb_neq in E. apply Nat.eqb_neq. destruct (le_lt_dec y x) as [G|G].
    + replace (x + (m - y)) with ((x - y) + 1 * m) by lia. rewrite Nat.mod_add by lia. rewrite Nat.mod_small by lia. lia.
    + rewrite Nat.mod_small by lia. lia.
Qed.
Lemma existsb_ext_in {A} (p q : A -> bool) l : (forall x, In x l -> p x = q x) -> existsb p l = existsb q l.
Proof. induction l as [|a l IH]; intros H; simpl; [reflexivity|]. rewrite H by (left; reflexivity). f_equal. apply IH.
intros x Hx. apply H. right. exact Hx. Qed.

Theorem two_sum_state (M : machine bool) n m t s : 0 < t -> t <= n -> memory_bits M t s -> sums_to_zero M n m ->
  ((m - 1) / t) ^ t <= 2 ^ s.
Proof.
  intros Ht Hn HM [number [query [Hq Hc]]]. set (V := (m - 1) / t).
  assert (HV : t * V <= m - 1) by (apply Nat.mul_div_le; lia).
  destruct (le_lt_dec V 0) as [G|G].
  { replace V with 0 by lia. rewrite Nat.pow_0_l by lia. lia. }
  set (pad := repeat 0 (n - t)). rewrite <- nwords_length.
  apply (rows M t s (nwords t V) (list_prod (seq 0 t) (seq 0 V)) (fun f => wrv number 0 (spread V 0 f))
           (fun p => wrv number t pad ++ query (m - (1 + fst p * V + snd p))) (fun f p => nth (fst p) f 0 =? snd p)).
  - exact HM.
  - apply nwords_NoDup.
  - intros f Hf. apply in_nwords in Hf. rewrite wrv_len, spread_length. tauto.
  - intros p _ E. apply app_eq_nil in E. exact (Hq _ (proj2 E)).
  - intros f [i v] Hf Hp. apply in_nwords in Hf. destruct Hf as [Lf Ff]. apply in_prod_iff in Hp. rewrite !in_seq in Hp.
    cbn [fst snd]. assert (Hy : 0 < 1 + i * V + v < m) by nia.
    set (xs := spread V 0 f ++ pad).
    assert (Fx : Forall (fun x => x < m) xs).
    { apply Forall_app. split; [apply spread_below; [exact Ff|nia]|apply Forall_repeat; lia]. }
    assert (E : existsb (fun x => (x + (m - (1 + i * V + v))) mod m =? 0) xs = (nth i f 0 =? v)).
    { rewrite (existsb_ext_in _ (fun x => x =? 1 + i * V + v)).
      - unfold xs. rewrite existsb_app, (spread_found V f Ff 0 i v) by lia. rewrite Nat.sub_0_r.
        replace (existsb _ pad) with false; [apply orb_false_r|]. symmetry. unfold pad.
        clear. induction (n - t) as [|k IH]; simpl; [reflexivity|exact IH].
      - intros x Hx. rewrite Forall_forall in Fx. apply partner; [apply Fx, Hx|exact Hy]. }
    rewrite <- E. rewrite app_assoc. replace t with (length (spread V 0 f)) at 1 by (rewrite spread_length; exact Lf).
    rewrite <- wrv_split. apply Hc; [|exact Fx|lia]. unfold xs, pad. rewrite app_length, spread_length, repeat_length. lia.
  - intros f g Hf Hg E. apply in_nwords in Hf, Hg. apply (nth_ext_on 0 f g t); [tauto|tauto|]. intros i Hi.
    assert (Hgi : nth i g 0 < V).
    { destruct Hg as [Lg Fg]. rewrite Forall_forall in Fg. apply Fg, nth_In. lia. }
    specialize (E (i, nth i g 0)). cbn [fst snd] in E. rewrite Nat.eqb_refl in E. apply Nat.eqb_eq, E.
    apply in_prod; apply in_seq; lia.
Qed.

(** ** 3-Sum: do two of n numbers below m make a sum of 0 with the one that is asked about?  The first number is
    c = 2 d - 1, d = (m + 1) / 3, the others are below d: a sum of two of these is less than c + a. *)
Fixpoint has_pair (m q : nat) (xs : list nat) : bool :=
  match xs with [] => false | x :: xs => existsb (fun y => (x + y + q) mod m =? 0) xs || has_pair m q xs end.
Definition three_sums (M : machine bool) (n m : nat) : Prop :=
  exists number query, (forall q, query q <> []) /\ forall xs q, length xs = n -> Forall (fun x => x < m) xs -> q < m ->
    tells M (wrv number 0 xs ++ query q) (has_pair m q xs).
Lemma has_pair_none m q xs : (forall x y, In x xs -> In y xs -> (x + y + q) mod m <> 0) -> has_pair m q xs = false.
Proof.
  induction xs as [|x xs IH]; intros H; [reflexivity|]. cbn [has_pair]. rewrite IH by (intros; apply H; right; assumption).
  rewrite orb_false_r. apply not_true_is_false. intros E. apply existsb_exists in E. destruct E as [y [Hy E]].
  apply Nat.eqb_eq in E. revert E. apply H; [left; reflexivity|right; exact Hy].
Qed.
Lemma mod_apart m s y : 0 < y < m -> s < y + m -> s <> y -> (s + (m - y)) mod m <> 0.
Proof.
  intros Hy Hs N. destruct (le_lt_dec y s) as [G|G].
  - replace (s + (m - y)) with ((s - y) + 1 * m) by lia. rewrite Nat.mod_add, Nat.mod_small by lia. lia.
  - rewrite Nat.mod_small by lia. lia.
Qed.
(** The i-th of k numbers is one of V of its own. *)
Definition apart (V : nat) (f : list nat) : list nat := map pred (spread V 0 f).
Lemma apart_in V f : Forall (fun v => v < V) f -> forall i v, i < length f -> v < V ->
  In (i * V + v) (apart V f) <-> nth i f 0 = v.
Proof.
  intros Ff i v Hi Hv. pose proof (spread_found V f Ff 0 i v Hv ltac:(lia)) as E. rewrite Nat.sub_0_r in E.
  unfold apart. rewrite in_map_iff. split.
  - intros [x [Ex Hx]]. apply Nat.eqb_eq. rewrite <- E. apply existsb_exists. exists x. split; [exact Hx|].
    apply Nat.eqb_eq. assert (P : 0 < x); [|lia].
    clear - Hx. revert Hx. generalize 0 at 1. induction f as [|u f IH]; intros j Hx; [destruct Hx|].
    cbn [spread] in Hx. destruct Hx as [<-|Hx]; [lia|exact (IH _ Hx)].
  - intros G. apply Nat.eqb_eq in G. rewrite G in E. apply existsb_exists in E. destruct E as [x [Hx Ex]].
    exists x. split; [apply Nat.eqb_eq in Ex; subst; reflexivity|exact Hx].
Qed.
Theorem three_sum_state (M : machine bool) n m k s : 0 < k -> k < n -> memory_bits M (S k) s -> three_sums M n m ->
  ((m + 1) / 3 / k) ^ k <= 2 ^ s.
Proof.
  intros Hk Hn HM [number [query [Hq Hc]]]. set (d := (m + 1) / 3). set (V := d / k).
  assert (Hd : 3 * d <= m + 1) by (apply Nat.mul_div_le; lia). assert (HV : k * V <= d) by (apply Nat.mul_div_le; lia).
  destruct (le_lt_dec V 0) as [G|G]; [replace V with 0 by lia; rewrite Nat.pow_0_l by lia; lia|].
  set (c := 2 * d - 1). set (pad := repeat c (n - S k)). rewrite <- nwords_length.
  apply (rows M (S k) s (nwords k V) (list_prod (seq 0 k) (seq 0 V)) (fun f => wrv number 0 (c :: apart V f))
           (fun p => wrv number (S k) pad ++ query (m - (c + (fst p * V + snd p)))) (fun f p => nth (fst p) f 0 =? snd p)).
  - exact HM.
  - apply nwords_NoDup.
  - intros f Hf. apply in_nwords in Hf. rewrite wrv_len. unfold apart. cbn [length].
    rewrite map_length, spread_length. lia.
  - intros p _ E. apply app_eq_nil in E. exact (Hq _ (proj2 E)).
  - intros f [i v] Hf Hp. apply in_nwords in Hf. destruct Hf as [Lf Ff]. apply in_prod_iff in Hp. rewrite !in_seq in Hp.
    cbn [fst snd]. set (a := i * V + v). assert (Ha : a < d) by (unfold a; nia).
    set (xs := (c :: apart V f) ++ pad).
    assert (Lx : length (c :: apart V f) = S k) by (unfold apart; cbn [length]; rewrite map_length, spread_length; lia).
    assert (Below : forall x, In x (apart V f) -> x < d).
    { intros x Hx. unfold apart in Hx. apply in_map_iff in Hx. destruct Hx as [y [<- Hy]].
      pose proof (spread_below V f Ff 0 (d + 1) ltac:(nia)) as B. rewrite Forall_forall in B. specialize (B y Hy). lia. }
    assert (In_xs : forall x, In x xs -> x = c \/ In x (apart V f)).
    { intros x Hx. apply in_app_iff in Hx. destruct Hx as [[<-|Hx]|Hx]; auto. apply repeat_spec in Hx. auto. }
    assert (E : has_pair m (m - (c + a)) xs = (nth i f 0 =? v)).
    { destruct (nth i f 0 =? v) eqn:Ev.
      - apply Nat.eqb_eq in Ev. unfold xs. cbn [app has_pair]. apply orb_true_iff. left. apply existsb_exists.
        exists a. split; [apply in_app_iff; left; apply apart_in; auto; lia|]. apply Nat.eqb_eq.
        replace (c + a + (m - (c + a))) with (1 * m) by (unfold c; lia). apply Nat.mod_mul. lia.
      - apply Nat.eqb_neq in Ev. apply has_pair_none. intros x y Hx Hy. apply In_xs in Hx, Hy.
        apply mod_apart; [unfold c; lia| |].
        + assert (x <= c /\ y <= c) as [? ?].
          { split; [destruct Hx as [->|Hx]|destruct Hy as [->|Hy]]; auto; [apply Below in Hx|apply Below in Hy];
              unfold c; lia. }
          unfold c in *. lia.
        + intros E. apply Ev.
          assert (Hin : In a (apart V f)).
          { destruct Hx as [->|Hx], Hy as [->|Hy].
            - exfalso. unfold c in E. lia.
            - replace a with y by lia. exact Hy.
            - replace a with x by lia. exact Hx.
            - exfalso. apply Below in Hx, Hy. unfold c in E. lia. }
          apply (apart_in V f Ff i v) in Hin; [exact Hin|lia|lia]. }
    rewrite <- E, app_assoc.
    replace (wrv number 0 (c :: apart V f) ++ wrv number (S k) pad) with (wrv number 0 xs)
      by (unfold xs; rewrite wrv_split, Lx; reflexivity).
    apply Hc; [unfold xs, pad; rewrite app_length, Lx, repeat_length; lia| |unfold c; lia].
    apply Forall_forall. intros x Hx. apply In_xs in Hx. destruct Hx as [->|Hx]; [unfold c; lia|].
    apply Below in Hx. lia.
  - intros f g Hf Hg E. apply in_nwords in Hf, Hg. apply (nth_ext_on 0 f g k); [tauto|tauto|]. intros i Hi.
    assert (Hgi : nth i g 0 < V).
    { destruct Hg as [Lg Fg]. rewrite Forall_forall in Fg. apply Fg, nth_In. lia. }
    specialize (E (i, nth i g 0)). cbn [fst snd] in E. rewrite Nat.eqb_refl in E. apply Nat.eqb_eq, E.
    apply in_prod; apply in_seq; lia.
Qed.

(** ** Recall: after n pairs of a key and its value, a key is asked for.  Keys are known beforehand. *)
Fixpoint pairs {Tok} (key : nat -> Tok) (value : nat -> nat -> Tok) (i : nat) (f : list nat) : list Tok :=
  match f with [] => [] | v :: f => key i :: value i v :: pairs key value (S i) f end.
Lemma pairs_length {Tok} (key : nat -> Tok) value f : forall i, length (pairs key value i f) = 2 * length f.
Proof. induction f as [|v f IH]; intros i; simpl; [reflexivity|]. rewrite IH. lia. Qed.
Lemma pairs_app {Tok} (key : nat -> Tok) value f g : forall i,
  pairs key value i (f ++ g) = pairs key value i f ++ pairs key value (i + length f) g.
Proof.
  induction f as [|v f IH]; intros i; simpl; [rewrite Nat.add_0_r; reflexivity|].
  rewrite IH. do 3 f_equal. f_equal. lia.
Qed.
Definition recalls (M : machine nat) (n V : nat) : Prop :=
  exists key value query, (forall x, query x <> []) /\ forall f x, length f = n -> Forall (fun v => v < V) f -> x < n ->
    tells M (pairs key value 0 f ++ query x) (nth x f 0).
Theorem recall_state (M : machine nat) n V k s : k <= n -> 0 < V -> memory_bits M (2 * k) s -> recalls M n V ->
  V ^ k <= 2 ^ s.
Proof.
  intros Hk HV HM [key [value [query [Hq Hc]]]]. set (pad := repeat 0 (n - k)). rewrite <- nwords_length.
  apply (rows M (2 * k) s (nwords k V) (seq 0 k) (pairs key value 0) (fun x => pairs key value k pad ++ query x)
           (fun f x => nth x f 0)).
  - exact HM.
  - apply nwords_NoDup.
  - intros f Hf. apply in_nwords in Hf. rewrite pairs_length. lia.
  - intros x _ E. apply app_eq_nil in E. exact (Hq _ (proj2 E)).
  - intros f x Hf Hx. apply in_nwords in Hf. destruct Hf as [Lf Ff]. apply in_seq in Hx.
    assert (E : nth x (f ++ pad) 0 = nth x f 0) by (apply app_nth1; lia). rewrite <- E.
    rewrite app_assoc. replace k with (0 + length f) at 1 by (simpl; exact Lf). rewrite <- pairs_app.
    apply Hc; [unfold pad; rewrite app_length, repeat_length; lia| |lia].
    apply Forall_app. split; [exact Ff|apply Forall_repeat; exact HV].
  - intros f g Hf Hg E. apply in_nwords in Hf, Hg. apply (nth_ext_on 0 f g k); [tauto|tauto|].
    intros i Hi. apply E, in_seq. lia.
Qed.

(** ** Sparse averages: how many of the bits at q places, in rising order, are 1?  Of n bits the last q - 1 are 0, and are asked for. *)
Definition averages (M : machine nat) (n q : nat) : Prop :=
  exists bit query, (forall ys, query ys <> []) /\ forall z ys, length z = n -> Forall (fun v => v < 2) z ->
    length ys = q -> Forall (fun y => y < n) ys -> StronglySorted lt ys ->
    tells M (wrv bit 0 z ++ query ys) (list_sum (map (fun y => nth y z 0) ys)).
Lemma sum_zeros k f : forall j c, length f <= j -> list_sum (map (fun y => nth y (f ++ repeat 0 k) 0) (seq j c)) = 0.
Proof.
  intros j c. revert j. induction c as [|c IH]; intros j Hj; [reflexivity|]. cbn [seq map list_sum fold_right].
  fold (list_sum (map (fun y => nth y (f ++ repeat 0 k) 0) (seq (S j) c))). rewrite IH by lia.
  rewrite app_nth2, nth_repeat by lia. reflexivity.
Qed.
Lemma seq_sorted j : forall i, StronglySorted lt (seq i j).
Proof.
  induction j as [|j IH]; intros i; simpl; constructor; [apply IH|]. apply Forall_forall. intros y Hy.
  apply in_seq in Hy. lia.
Qed.
Theorem average_state (M : machine nat) n q t k s : 0 < q -> k + q <= n + 1 -> k <= t -> t <= n ->
  memory_bits M t s -> averages M n q -> 2 ^ k <= 2 ^ s.
Proof.
  intros Hq Hk Ht Hn HM [bit [query [Ha Hc]]]. rewrite <- nwords_length.
  set (ys := fun i => i :: seq (n - q + 1) (q - 1)).
  apply (rows M t s (nwords k 2) (seq 0 k) (fun f => wrv bit 0 (f ++ repeat 0 (t - k)))
           (fun i => wrv bit t (repeat 0 (n - t)) ++ query (ys i)) (fun f i => nth i f 0)).
  - exact HM.
  - apply nwords_NoDup.
  - intros f Hf. apply in_nwords in Hf. rewrite wrv_len, app_length, repeat_length. lia.
  - intros i _ E. apply app_eq_nil in E. exact (Ha _ (proj2 E)).
  - intros f i Hf Hi. apply in_nwords in Hf. destruct Hf as [Lf Ff]. apply in_seq in Hi.
    set (z := f ++ repeat 0 (n - k)).
    assert (Ez : wrv bit 0 (f ++ repeat 0 (t - k)) ++ wrv bit t (repeat 0 (n - t)) = wrv bit 0 z).
    { unfold z. replace (n - k) with ((t - k) + (n - t)) by lia. rewrite repeat_app, app_assoc, (wrv_split bit (f ++ repeat 0 (t - k))).
      replace (length (f ++ repeat 0 (t - k))) with t; [reflexivity|]. rewrite app_length, repeat_length. lia. }
    assert (E : list_sum (map (fun y => nth y z 0) (ys i)) = nth i f 0).
    { unfold ys, z. cbn [map list_sum fold_right].
      fold (list_sum (map (fun y => nth y (f ++ repeat 0 (n - k)) 0) (seq (n - q + 1) (q - 1)))).
      rewrite sum_zeros by lia. rewrite app_nth1 by lia. lia. }
    rewrite <- E, app_assoc, Ez. apply Hc.
    + unfold z. rewrite app_length, repeat_length. lia.
    + apply Forall_app. split; [exact Ff|apply Forall_repeat; lia].
    + unfold ys. cbn [length]. rewrite seq_length. lia.
    + apply Forall_forall. intros y [<-|Hy]; [lia|]. apply in_seq in Hy. lia.
    + constructor; [apply seq_sorted|]. apply Forall_forall. intros y Hy. apply in_seq in Hy. lia.
  - intros f g Hf Hg E. apply in_nwords in Hf, Hg. apply (nth_ext_on 0 f g k); [tauto|tauto|].
    intros i Hi. apply E, in_seq. lia.
Qed.

(** ** Counting: does the symbol a occur at least k times among n symbols below S? *)
Definition counts (M : machine bool) (n S : nat) : Prop :=
  exists symbol query, (forall a k, query a k <> []) /\ forall xs a k, length xs = n -> Forall (fun x => x < S) xs ->
    a < S -> 0 < k <= n -> tells M (wrv symbol 0 xs ++ query a k) (k <=? count_occ Nat.eq_dec xs a).
Fixpoint piles (i : nat) (c : list nat) : list nat :=
  match c with [] => [] | k :: c => repeat i k ++ piles (S i) c end.
Lemma piles_length c : forall i, length (piles i c) = list_sum c.
Proof. induction c as [|k c IH]; intros i; simpl; [reflexivity|]. rewrite app_length, repeat_length, IH. reflexivity. Qed.
Lemma piles_below c : forall i b, i + length c <= b -> Forall (fun x => x < b) (piles i c).
Proof.
  induction c as [|k c IH]; intros i b Hb; cbn [piles length] in *; [constructor|].
  apply Forall_app. split; [apply Forall_repeat; lia|apply IH; lia].
Qed.
Lemma count_repeat a b k : count_occ Nat.eq_dec (repeat b k) a = if Nat.eq_dec b a then k else 0.
Proof.
  induction k as [|k IH]; cbn [repeat count_occ]; [destruct (Nat.eq_dec b a); reflexivity|]. rewrite IH.
  destruct (Nat.eq_dec b a); reflexivity.
Qed.
Lemma piles_count c a : forall i, i <= a -> count_occ Nat.eq_dec (piles i c) a = nth (a - i) c 0.
Proof.
  induction c as [|k c IH]; intros i Hi; [destruct (a - i); reflexivity|]. cbn [piles].
  rewrite count_occ_app, count_repeat. destruct (Nat.eq_dec i a) as [->|N].
  - rewrite Nat.sub_diag. cbn [nth]. enough (E : count_occ Nat.eq_dec (piles (S a) c) a = 0) by lia.
    clear. generalize (S a), (Nat.lt_succ_diag_r a). intros j Hj. revert j Hj.
    induction c as [|k c IH]; intros j Hj; [reflexivity|]. cbn [piles].
    rewrite count_occ_app, count_repeat, IH by lia. destruct (Nat.eq_dec j a); lia.
  - rewrite IH by lia. replace (a - i) with (S (a - S i)) by lia. reflexivity.
Qed.
Lemma sum_below c q : Forall (fun k => k < S q) c -> list_sum c <= length c * q.
Proof. induction 1 as [|k c Hk Hc IH]; simpl; lia. Qed.

Lemma nth_le_sum c : forall i, nth i c 0 <= list_sum c.
Proof. induction c as [|k c IH]; intros [|i]; simpl; try lia. specialize (IH i). lia. Qed.

Theorem counting_state (M : machine bool) n S t s : 1 < S -> t <= n -> memory_bits M t s -> counts M n S ->
  (1 + t / (S - 1)) ^ (S - 1) <= 2 ^ s.
Proof.
  intros HS Hn HM [symbol [query [Hq Hc]]]. set (d := S - 1). set (q := t / d).
  assert (Hd : d * q <= t) by (apply Nat.mul_div_le; unfold d; lia).
  set (fill := fun c k => piles 0 c ++ repeat d (k - list_sum c)). rewrite <- nwords_length.
  assert (Hsum : forall c, In c (nwords d (1 + q)) -> list_sum c <= t).
  { intros c Hc'. apply in_nwords in Hc'. destruct Hc' as [Lc Fc]. pose proof (sum_below c q Fc). nia. }
  apply (rows M t s (nwords d (1 + q)) (list_prod (seq 0 d) (seq 1 n)) (fun c => wrv symbol 0 (fill c t))
           (fun p => wrv symbol t (repeat d (n - t)) ++ query (fst p) (snd p)) (fun c p => snd p <=? nth (fst p) c 0)).
  - exact HM.
  - apply nwords_NoDup.
  - intros c Hc'. specialize (Hsum c Hc'). rewrite wrv_len. unfold fill.
    rewrite app_length, piles_length, repeat_length. lia.
  - intros p _ E. apply app_eq_nil in E. exact (Hq _ _ (proj2 E)).
  - intros c [a k] Hc' Hp. pose proof (Hsum c Hc') as Hs. apply in_nwords in Hc'. destruct Hc' as [Lc Fc].
    apply in_prod_iff in Hp. rewrite !in_seq in Hp. cbn [fst snd].
    assert (Lf : length (fill c t) = t) by (unfold fill; rewrite app_length, piles_length, repeat_length; lia).
    set (xs := fill c t ++ repeat d (n - t)).
    assert (E : count_occ Nat.eq_dec xs a = nth a c 0).
    { unfold xs, fill. rewrite !count_occ_app, !count_repeat, piles_count by lia. rewrite Nat.sub_0_r.
      destruct (Nat.eq_dec d a); lia. }
    rewrite <- E, app_assoc.
    replace (wrv symbol 0 (fill c t) ++ wrv symbol t (repeat d (n - t))) with (wrv symbol 0 xs)
      by (unfold xs; rewrite wrv_split, Lf; reflexivity).
    apply Hc; [| |unfold d in Hp; lia|lia].
    + unfold xs. rewrite app_length, Lf, repeat_length. lia.
    + unfold xs, fill. apply Forall_app. split; [apply Forall_app; split|].
      * apply piles_below. unfold d in Lc. lia.
      * apply Forall_repeat. unfold d. lia.
      * apply Forall_repeat. unfold d. lia.
  - intros c c' Hc' Hc'' E. pose proof (Hsum c Hc') as Hs. pose proof (Hsum c' Hc'') as Hs'.
    apply in_nwords in Hc', Hc''. apply (nth_ext_on 0 c c' d); [tauto|tauto|]. intros i Hi.
    assert (B : forall e, In e [c; c'] -> nth i e 0 <= n).
    { intros e He. pose proof (nth_le_sum e i). destruct He as [<-|[<-|[]]]; lia. }
    assert (D : forall k, 0 < k <= n -> (k <=? nth i c 0) = (k <=? nth i c' 0)).
    { intros k Hk. apply (E (i, k)). apply in_prod; apply in_seq; lia. }
    pose proof (B c ltac:(left; reflexivity)). pose proof (B c' ltac:(right; left; reflexivity)).
    destruct (lt_eq_lt_dec (nth i c 0) (nth i c' 0)) as [[G|G]|G]; [|exact G|]; exfalso.
    + specialize (D (nth i c' 0) ltac:(lia)). rewrite Nat.leb_refl in D. apply Nat.leb_le in D. lia.
    + specialize (D (nth i c 0) ltac:(lia)). rewrite Nat.leb_refl in D. symmetry in D. apply Nat.leb_le in D. lia.
Qed.

(** ** Equality and Disjointness of n bits, cut after t of the first string; the rest of it is false. *)
Lemma wr_app {Tok} (bit : nat -> bool -> Tok) a b : forall i, wr bit i (a ++ b) = wr bit i a ++ wr bit (i + length a) b.
Proof.
  induction a as [|x a IH]; intros i; simpl; [rewrite Nat.add_0_r; reflexivity|]. rewrite IH. do 2 f_equal. f_equal. lia.
Qed.
Theorem compare_state g (M : machine bool) n t s : (g = eqb_l \/ g = disj) -> 0 < n -> t <= n ->
  memory_bits M t s -> compares g M n -> t <= s.
Proof.
  intros Hg Hn Ht HM [bit [sep [eos C]]]. apply (Nat.pow_le_mono_r_iff 2); [lia|].
  set (pad := repeat false (n - t)). rewrite <- bwords_length.
  apply (rows M t s (bwords t) (bwords n) (wr bit 0) (fun b => wr bit t pad ++ sep ++ wr bit n b ++ eos)
           (fun a b => g (a ++ pad) b)).
  - exact HM.
  - apply bwords_NoDup.
  - intros a Ha. apply in_bwords in Ha. rewrite wr_len. exact Ha.
  - intros b Hb E. apply in_bwords in Hb. apply app_eq_nil in E. destruct E as [_ E]. apply app_eq_nil in E.
    destruct E as [_ E]. apply app_eq_nil in E. destruct b; simpl in Hb, E; [lia|destruct E; discriminate].
  - intros a b Ha Hb. apply in_bwords in Ha, Hb. rewrite app_assoc.
    replace (wr bit 0 a ++ wr bit t pad) with (wr bit 0 (a ++ pad)) by (rewrite wr_app, Ha; reflexivity).
    apply C; [unfold pad; rewrite app_length, repeat_length; lia|exact Hb].
  - intros a a' Ha Ha' E. apply in_bwords in Ha, Ha'. apply (app_inv_tail pad).
    assert (L : forall c : list bool, length c = t -> length (c ++ pad) = n)
      by (intros c Hc; unfold pad; rewrite app_length, repeat_length; lia).
    destruct Hg; subst g; [apply (eqb_sep n)|apply (disj_sep n)]; auto; intros b Hb; apply E, in_bwords, Hb.
Qed.

(** ** What a verdict says *)
Local Open Scope N_scope.
Ltac divided_in H := repeat first
  [rewrite N2Nat.inj_div in H | rewrite N2Nat.inj_sub in H | rewrite N2Nat.inj_add in H].
Definition chk_sum (s n m t a b : N) : bool :=
  (0 <? t) && (t <=? n) && power_exceeds s t ((m - 1) / t) a b.
Theorem cannot_sum s n m t a b : chk_sum s n m t a b = true ->
  forall M, memory_bits M (N.to_nat t) (N.to_nat s) -> ~ sums_to_zero M (N.to_nat n) (N.to_nat m).
Proof.
  unfold chk_sum. rewrite !andb_true_iff, N.ltb_lt, N.leb_le. intros [[H0 H1] H2] M HM C.
  apply power_exceeds_sound in H2. apply to_nat_lt in H0. apply to_nat_le in H1. divided_in H2.
  pose proof (two_sum_state M _ _ _ _ H0 H1 HM C). change (N.to_nat 1) with 1%nat in *. lia.
Qed.
Definition chk_three (s n m k a b : N) : bool :=
  (0 <? k) && (k <? n) && power_exceeds s k ((m + 1) / 3 / k) a b.
Theorem cannot_three s n m k a b : chk_three s n m k a b = true ->
  forall M, memory_bits M (N.to_nat (k + 1)) (N.to_nat s) -> ~ three_sums M (N.to_nat n) (N.to_nat m).
Proof.
  unfold chk_three. rewrite !andb_true_iff, !N.ltb_lt. intros [[H0 H1] H2] M HM C.
  apply power_exceeds_sound in H2. apply to_nat_lt in H0, H1. divided_in H2. divided_in HM. rewrite Nat.add_1_r in HM.
  change (N.to_nat 1) with 1%nat in *. change (N.to_nat 3) with 3%nat in *.
  pose proof (three_sum_state M _ _ _ _ H0 H1 HM C). lia.
Qed.
Definition chk_recall (s n V k a b : N) : bool := (k <=? n) && (0 <? V) && power_exceeds s k V a b.
Theorem cannot_recall s n V k a b : chk_recall s n V k a b = true ->
  forall M, memory_bits M (N.to_nat (2 * k)) (N.to_nat s) -> ~ recalls M (N.to_nat n) (N.to_nat V).
Proof.
  unfold chk_recall. rewrite !andb_true_iff, N.ltb_lt, N.leb_le. intros [[H0 H1] H2] M HM C.
  apply power_exceeds_sound in H2. apply to_nat_le in H0. apply to_nat_lt in H1. rewrite N2Nat.inj_mul in HM.
  pose proof (recall_state M _ _ _ _ H0 H1 HM C). lia.
Qed.
Definition chk_count (s n S t a b : N) : bool :=
  (1 <? S) && (t <=? n) && power_exceeds s (S - 1) (1 + t / (S - 1)) a b.
Theorem cannot_count s n S t a b : chk_count s n S t a b = true ->
  forall M, memory_bits M (N.to_nat t) (N.to_nat s) -> ~ counts M (N.to_nat n) (N.to_nat S).
Proof.
  unfold chk_count. rewrite !andb_true_iff, N.ltb_lt, N.leb_le. intros [[H0 H1] H2] M HM C.
  apply power_exceeds_sound in H2. apply to_nat_lt in H0. apply to_nat_le in H1. divided_in H2.
  change (N.to_nat 1) with 1%nat in *. pose proof (counting_state M _ _ _ _ H0 H1 HM C). lia.
Qed.

Definition chk_average (s n q t k : N) : bool :=
  (0 <? q) && (k + q <=? n + 1) && (k <=? t) && (t <=? n) && (s <? k).
Theorem cannot_average s n q t k : chk_average s n q t k = true ->
  forall M, memory_bits M (N.to_nat t) (N.to_nat s) -> ~ averages M (N.to_nat n) (N.to_nat q).
Proof.
  unfold chk_average. rewrite !andb_true_iff, !N.ltb_lt, !N.leb_le. intros [[[[H0 H1] H2] H3] H4] M HM C.
  apply to_nat_lt in H0, H4. apply to_nat_le in H1, H2, H3. rewrite !N2Nat.inj_add in H1.
  pose proof (average_state M _ _ _ _ _ H0 H1 H2 H3 HM C) as E. apply Nat.pow_le_mono_r_iff in E; lia.
Qed.

(** Log-linear attention, at t = 2^r. *)
Lemma merged_at {Ans} (M : log_linear Ans) r s t : t = 2 ^ r -> merged_bits M (N.to_nat r) (N.to_nat s) ->
  memory_bits (machine_of M) (N.to_nat t) (N.to_nat s).
Proof. intros -> H. rewrite N2Nat.inj_pow. apply merged_memory, H. Qed.
Theorem cannot_sum_log_linear s n m r a b : chk_sum s n m (2 ^ r) a b = true ->
  forall M, merged_bits M (N.to_nat r) (N.to_nat s) -> ~ sums_to_zero (machine_of M) (N.to_nat n) (N.to_nat m).
Proof. intros H M HM. apply (cannot_sum _ _ _ _ _ _ H), (merged_at M r); [reflexivity|exact HM]. Qed.
Theorem cannot_recall_log_linear s n V r a b : chk_recall s n V (2 ^ (r - 1)) a b && (0 <? r) = true ->
  forall M, merged_bits M (N.to_nat r) (N.to_nat s) -> ~ recalls (machine_of M) (N.to_nat n) (N.to_nat V).
Proof.
  rewrite andb_true_iff, N.ltb_lt. intros [H Hr] M HM. apply (cannot_recall _ _ _ _ _ _ H), (merged_at M r); [|exact HM].
  rewrite <- N.pow_succ_r by lia. f_equal. lia.
Qed.
Theorem cannot_count_log_linear s n S r a b : chk_count s n S (2 ^ r) a b = true ->
  forall M, merged_bits M (N.to_nat r) (N.to_nat s) -> ~ counts (machine_of M) (N.to_nat n) (N.to_nat S).
Proof. intros H M HM. apply (cannot_count _ _ _ _ _ _ H), (merged_at M r); [reflexivity|exact HM]. Qed.
Definition chk_compare (s n r : N) : bool := (0 <? n) && (2 ^ r <=? n) && (s <? 2 ^ r).
Theorem cannot_compare_log_linear g s n r : (g = eqb_l \/ g = disj) -> chk_compare s n r = true ->
  forall M, merged_bits M (N.to_nat r) (N.to_nat s) -> ~ compares g (machine_of M) (N.to_nat n).
Proof.
  unfold chk_compare. rewrite !andb_true_iff, !N.ltb_lt, N.leb_le. intros Hg [[H0 H1] H2] M HM C.
  apply to_nat_lt in H0, H2. apply to_nat_le in H1. rewrite N2Nat.inj_pow in H1, H2.
  pose proof (compare_state g _ _ _ _ Hg H0 H1 (merged_memory M _ _ HM) C). change (N.to_nat 2) with 2%nat in *. lia.
Qed.
Theorem cannot_average_log_linear s n q r k : chk_average s n q (2 ^ r) k = true ->
  forall M, merged_bits M (N.to_nat r) (N.to_nat s) -> ~ averages (machine_of M) (N.to_nat n) (N.to_nat q).
Proof. intros H M HM. apply (cannot_average _ _ _ _ _ H), (merged_at M r); [reflexivity|exact HM]. Qed.
Theorem cannot_three_log_linear s n m r a b : chk_three s n m (2 ^ r - 1) a b && (0 <? r) = true ->
  forall M, merged_bits M (N.to_nat r) (N.to_nat s) -> ~ three_sums (machine_of M) (N.to_nat n) (N.to_nat m).
Proof.
  rewrite andb_true_iff, N.ltb_lt. intros [H Hr] M HM. apply (cannot_three _ _ _ _ _ _ H), (merged_at M r); [|exact HM].
  pose proof (N.pow_nonzero 2 r). lia.
Qed.
