(** Messages of S bits are enough to say whether one of S symbols occurs: so the hypotheses of block_cut.v can be
    met by a layer that answers right, and its bound for counting is of the right order. *)
From Coq Require Import List Arith Lia Bool PeanoNat NArith.
Import ListNotations.
From Limen Require Import counting streaming_state families block_cut.
From Limen Require each_w_stack.
Import each_w_stack(monoid, carrier, add, zero, add_assoc, add_zero, total, total_app).

(** A set of symbols is a number, a bit for each. *)
Definition sets : monoid := {| carrier := N; add := N.lor; zero := 0%N; add_assoc := N.lor_assoc; add_zero := N.lor_0_l |}.
Section Counter.
Variable S : nat.
(** A token is a symbol, or asks for one. *)
Definition token := (nat * bool)%type.
Definition bit_of (t : token) : N := if snd t || (S <=? fst t) then 0%N else (2 ^ N.of_nat (fst t))%N.
Definition seen (xs : list token) : N := fold_right (fun t s => N.lor (bit_of t) s) 0%N xs.
Definition asks_for (xs : list token) : nat := match find snd xs with Some t => fst t | None => 0 end.
Definition counter : sparse_layer bool := {|
  BToken := token; heads := 1; opened := 0; Shown := unit; looks := fun _ _ => (0, tt);
  pooled := sets; pooled_commute := N.lor_comm; message := fun _ xs => seen xs;
  reads := fun own told => N.testbit (N.lor (seen own) (fst (hd (0%N, []) told))) (N.of_nat (asks_for own)) |}.

Lemma seen_app a b : seen (a ++ b) = N.lor (seen a) (seen b).
Proof. induction a as [|t a IH]; [reflexivity|]. simpl. rewrite IH. apply N.lor_assoc. Qed.
Lemma seen_bit xs a : N.testbit (seen xs) (N.of_nat a) = existsb (fun t => negb (snd t) && (fst t =? a)) xs && (a <? S).
Proof.
  induction xs as [|[v asks] xs IH]; [apply N.bits_0|]. cbn [seen fold_right existsb fst snd]. fold (seen xs).
  rewrite N.lor_spec, IH. unfold bit_of. cbn [fst snd].
  destruct asks; cbn [negb andb orb]; [rewrite N.bits_0; reflexivity|].
  destruct (Nat.leb_spec S v) as [G|G].
  - rewrite N.bits_0. destruct (Nat.eqb_spec v a) as [->|E]; [|reflexivity].
    replace (a <? S) with false by (symmetry; apply Nat.ltb_ge; exact G). rewrite !andb_false_r. reflexivity.
  - destruct (Nat.eqb_spec v a) as [->|E]; [|rewrite N.pow2_bits_false by lia; reflexivity].
    rewrite N.pow2_bits_true. replace (a <? S) with true by (symmetry; apply Nat.ltb_lt; exact G). reflexivity.
Qed.
Lemma seen_small xs : (seen xs < 2 ^ N.of_nat S)%N.
Proof.
  replace (seen xs) with (N.land (seen xs) (N.ones (N.of_nat S))).
  - rewrite N.land_ones. apply N.mod_lt, N.pow_nonzero. discriminate.
  - apply N.bits_inj. intros i. rewrite N.land_spec. destruct (N.lt_ge_cases i (N.of_nat S)) as [L|L].
    + rewrite N.ones_spec_low by exact L. apply andb_true_r.
    + rewrite N.ones_spec_high by exact L. rewrite andb_false_r. rewrite <- (N2Nat.id i), seen_bit.
      replace (N.to_nat i <? S) with false by (symmetry; apply Nat.ltb_ge; lia). symmetry. apply andb_false_r.
Qed.
Lemma seen_blocks B xs : forall k, k * B <= length xs ->
  total (message counter 0) (map (piece counter B xs) (seq 0 k)) = seen (firstn (k * B) xs).
Proof.
  induction k as [|k IH]; intros Hk; [reflexivity|]. rewrite seq_S, map_app, total_app, IH by lia. cbn [map total fold_right].
  simpl message. replace (Datatypes.S k * B) with (k * B + B) by lia.
  change (@add sets) with N.lor. change (@zero sets) with 0%N. rewrite N.lor_0_r.
  assert (E : firstn (k * B + B) xs = firstn (k * B) xs ++ piece counter B xs k).
  { unfold piece. rewrite <- (firstn_skipn (k * B) xs) at 1. rewrite firstn_app, firstn_firstn, firstn_length.
    replace (Nat.min (k * B + B) (k * B)) with (k * B) by lia. f_equal. f_equal. lia. }
  rewrite E, seen_app. reflexivity.
Qed.
Lemma asks_end a l : forall i, asks_for (wrv (fun _ v => (v, false)) i l ++ [(a, true)]) = a.
Proof. induction l as [|v l IH]; intros i; [reflexivity|]. apply IH. Qed.
Theorem blocks_can_count B n : 0 < B -> counts_by (block_answers counter B) n S.
Proof.
  intros HB. exists (fun _ v => (v, false)), (fun a => (a, true)), []. intros xs a Lx Fx Ha.
  rewrite occurs. set (text := wrv (fun _ v => (v, false)) 0 xs ++ [(a, true)]).
  assert (Lt : length text = n + 1) by (unfold text; rewrite app_length, wrv_len; simpl; lia).
  assert (Lt' : @length (BToken counter) text = n + 1) by exact Lt.
  unfold block_answers. set (k := whole counter B text). assert (Hk : k * B <= n).
  { unfold k, whole. rewrite Lt'. replace (n + 1 - 1) with n by lia.
    rewrite Nat.mul_comm. apply Nat.mul_div_le. lia. }
  transitivity (N.testbit (N.lor (seen (skipn (k * B) text)) (total (message counter 0) (map (piece counter B text) (seq 0 k))))
                  (N.of_nat (asks_for (skipn (k * B) text)))); [reflexivity|].
  rewrite (seen_blocks B text k) by (rewrite Lt'; lia).
  assert (Own : skipn (k * B) text = wrv (fun _ v => (v, false)) (k * B) (skipn (k * B) xs) ++ [(a, true)]).
  { unfold text. rewrite skipn_app, wrv_len, Lx. replace (k * B - n) with 0 by lia. f_equal.
    rewrite <- (firstn_skipn (k * B) xs) at 1. rewrite wrv_app, skipn_app, wrv_len, firstn_length.
    rewrite skipn_all2 by (rewrite wrv_len, firstn_length; lia). replace (Nat.min (k * B) (length xs)) with (k * B) by lia.
    rewrite Nat.sub_diag. reflexivity. }
  assert (Asks : asks_for (skipn (k * B) text) = a).
  { rewrite Own. apply asks_end. }
  rewrite Asks. rewrite N.lor_comm, <- seen_app, firstn_skipn, seen_bit. unfold text. rewrite existsb_app. cbn [existsb snd negb andb orb].
  replace (a <? S) with true by (symmetry; apply Nat.ltb_lt, Ha). rewrite orb_false_r, andb_true_r.
  generalize 0. clear. induction xs as [|v xs IH]; intros i; [reflexivity|]. simpl. rewrite IH. reflexivity.
Qed.
(** Its size: S bits of added messages, and nothing that opened blocks show. *)
Theorem blocks_can_count_size B a : sparse_size counter B a 1 0 S 0.
Proof.
  split; [reflexivity|]. split; [reflexivity|]. split.
  - exists (map N.of_nat (seq 0 (2 ^ S))). rewrite map_length, seq_length. split; [apply le_n|]. intros i bs _ _ _.
    assert (G : exists xs, total (message counter i) bs = seen xs).
    { exists (concat bs). induction bs as [|b bs IH]; [reflexivity|]. cbn [concat]. rewrite seen_app, <- IH. reflexivity. }
    destruct G as [xs ->]. apply in_map_iff. exists (N.to_nat (seen xs)). split; [apply N2Nat.id|]. apply in_seq. split; [lia|].
    pose proof (seen_small xs) as L. simpl. apply Nat.lt_le_trans with (N.to_nat (2 ^ N.of_nat S)); [lia|].
    rewrite N2Nat.inj_pow, Nat2N.id. apply le_n.
  - exists [(0, tt)]. split; [apply le_n|]. intros; left; reflexivity.
Qed.
End Counter.
