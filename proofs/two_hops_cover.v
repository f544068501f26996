(** Two hops by linear layers, one full layer, linear layers, without the losses of two_hops.v: the states that
    cross from z_2 to z_1 are fixed once, and then those behind z_1 are a function of z_1 alone (the choice of
    functions z_1 costs z_2 nothing); and the x1 functions are chosen together, on the best of y blocks of x0
    entries (cover.v).  Inequality A4 of src/limen/theorems/composition_depth/sharp.py, with a verified checker. *)
From Coq Require Import List Arith Lia Bool PeanoNat NArith.
Import ListNotations.
From Limen Require Import counting powers streaming_state two_hops two_hops_stack composition_depth cover.

Section Conversation.
Variables m n1 : nat.
Let N := n1 * m.
Variables Query Sg Ta Re : Type.
Variable Sg_dec : forall a b : Sg, {a = b} + {a <> b}.
Variable sig2 : list nat -> Sg.
Variable tau1 : list nat -> list nat -> Ta.
Variable lin1 : list nat -> Sg -> nat.
Variable reply : list nat -> Query -> Re.
Variable q0 : nat -> nat -> Query.
Variable qm : nat -> nat -> nat -> Query.
Variable out : nat -> nat -> list nat -> Sg -> Ta -> Re -> Re -> nat.
Let answer := ans Query Sg Ta Re sig2 tau1 lin1 reply q0 qm out.
Definition right_everywhere : Prop :=
  forall w z0 z1 z2, w < n1 -> z0 < m -> In z1 (nwords m m) -> In z2 (nwords N N) ->
    answer w z0 z1 z2 = nth (w * m + nth z0 z1 0) z2 0.

Variable K1 : nat.
Variables (Ls : list Sg) (Lt : list Ta) (Lb : list Re).
Hypothesis Hlin1 : forall z1 s, lin1 z1 s < K1.
Hypothesis Hsig2 : forall z2, In z2 (nwords N N) -> In (sig2 z2) Ls.
Hypothesis Htau1 : forall z1 z2, In z1 (nwords m m) -> In z2 (nwords N N) -> In (tau1 z1 z2) Lt.
Hypothesis Hreply : forall z2 q, In z2 (nwords N N) -> In (reply z2 q) Lb.

Hypothesis Hm : 0 < m.
Hypothesis Hn1 : 0 < n1.
Let A := nwords m m.
Let B := nwords N N.

(** ** Everything is fixed: what is left of z_2 is what nobody can ask for. *)
Section Final.
Variables (s : Sg) (c : nat) (P : list nat) (Z : list (list nat)) (I : list nat) (S : list (list nat)).
Hypothesis HP : forall z0, In z0 P -> z0 < m.
Hypothesis HZ : incl Z A.
Hypothesis NI : NoDup I.
Hypothesis HI : forall v, In v I -> v < m /\ exists z1 z0, In z1 Z /\ In z0 P /\ nth z0 z1 0 = v.
Hypothesis NS : NoDup S.
Hypothesis IS : incl S B.
Hypothesis Hs : forall z2, In z2 S -> sig2 z2 = s.
Hypothesis Hc : forall z1, In z1 Z -> lin1 z1 s = c.
Hypothesis Hcorrect : right_everywhere.

Definition asked (i : nat) : bool := memb (i mod m) I.
Definition unasked := filter (fun i => negb (asked i)) (seq 0 N).
Lemma asked_count : n1 * length I + length unasked <= N.
Proof.
  assert (E : N = length (filter asked (seq 0 N)) + length unasked).
  { unfold unasked. rewrite <- filter_split. symmetry; apply seq_length. }
  assert (L : n1 * length I <= length (filter asked (seq 0 N))); [|lia].
  rewrite <- (seq_length n1 0) at 1. rewrite <- prod_length. apply (pigeon (fun p => fst p * m + snd p)).
  - apply NoDup_prod; [apply seq_NoDup|assumption].
  - intros [w v] H. apply in_prod_iff in H. destruct H as [Hw Hv]. apply in_seq in Hw.
    destruct (HI v Hv) as [Hvm _]. simpl. apply filter_In. split.
    + apply in_seq. unfold N. nia.
    + apply memb_true. rewrite Nat.add_comm, Nat.mod_add by lia. rewrite Nat.mod_small; assumption.
  - intros [w v] [w' v'] H H' E0. apply in_prod_iff in H, H'.
    destruct (HI v (proj2 H)) as [Hv _]. destruct (HI v' (proj2 H')) as [Hv' _]. simpl in E0.
    assert (v = v').
    { rewrite <- (Nat.mod_small v m), <- (Nat.mod_small v' m) by assumption.
      rewrite <- (Nat.mod_add v w m), <- (Nat.mod_add v' w' m) by lia. f_equal. lia. }
    subst v'. f_equal. nia.
Qed.

Definition heard z2 :=
  (map (fun z1 => tau1 z1 z2) Z, (map (fun p => reply z2 (qm (fst p) (snd p) c)) (list_prod (seq 0 n1) P),
    (map (fun z0 => reply z2 (q0 z0 c)) P, map (fun i => nth i z2 0) unasked))).
Lemma heard_count : length S <=
  length Lt ^ length Z * (length Lb ^ (n1 * length P) * (length Lb ^ length P * N ^ length unasked)).
Proof.
  replace (length Lt ^ length Z * _) with (length (list_prod (words (length Z) Lt) (list_prod (words (n1 * length P) Lb)
    (list_prod (words (length P) Lb) (nwords (length unasked) N)))))
    by (rewrite !prod_length, nwords_length, !words_length; reflexivity).
  apply (pigeon heard); [assumption| |].
  - intros z2 Hz. unfold heard. repeat apply in_prod.
    + apply map_in_words; [reflexivity|]. intros z1 H1. apply Htau1; [apply HZ, H1|apply IS, Hz].
    + apply map_in_words; [rewrite prod_length, seq_length; reflexivity|intros; apply Hreply, IS, Hz].
    + apply map_in_words; [reflexivity|intros; apply Hreply, IS, Hz].
    + apply map_in_nwords; [reflexivity|]. intros i Hi. apply filter_In in Hi.
      destruct Hi as [Hi _]. apply in_seq in Hi. apply (nwords_nth N); [apply IS, Hz|lia].
  - intros y z Hy Hz E. unfold heard in E. injection E. intros Erest E0 Em Et. clear E.
    pose proof (IS y Hy) as By. pose proof (IS z Hz) as Bz.
    assert (Ly : length y = N) by (apply in_nwords in By; tauto).
    assert (Lz : length z = N) by (apply in_nwords in Bz; tauto).
    apply (nth_ext_on 0 y z N); auto. intros i Hi. destruct (asked i) eqn:Ri.
    + apply memb_true in Ri. destruct (HI _ Ri) as [_ [z1 [z0 [H1 [H2 H3]]]]].
      assert (Hw : i / m < n1) by (apply Nat.div_lt_upper_bound; [lia|]; unfold N in Hi; lia).
      pose proof (Hcorrect (i / m) z0 z1 y Hw (HP _ H2) (HZ _ H1) By) as Cy.
      pose proof (Hcorrect (i / m) z0 z1 z Hw (HP _ H2) (HZ _ H1) Bz) as Cz.
      rewrite H3 in Cy, Cz.
      replace (i / m * m + i mod m) with i in Cy, Cz by (rewrite (Nat.div_mod i m) at 1; lia).
      rewrite <- Cy, <- Cz. unfold answer, ans. rewrite (Hs y Hy), (Hs z Hz), (Hc z1 H1).
      assert (Gt : tau1 z1 y = tau1 z1 z) by (apply (ext_in_map Et); exact H1).
      assert (G0 : reply y (q0 z0 c) = reply z (q0 z0 c)) by (apply (ext_in_map E0); exact H2).
      assert (Gm : reply y (qm (i / m) z0 c) = reply z (qm (i / m) z0 c)).
      { apply (ext_in_map Em (i / m, z0)). apply in_prod; [apply in_seq; lia|exact H2]. }
      rewrite Gt, G0, Gm. reflexivity.
    + apply (ext_in_map Erest). apply filter_In. split; [apply in_seq; lia|]. rewrite Ri. reflexivity.
Qed.
End Final.

Theorem two_hops_cover x0 x1 y k : y * x0 <= m -> k <= m ->
  K1 ^ x1 * (binom m k * k ^ (x1 * x0)) ^ y < m ^ (x1 * (y * x0)) -> right_everywhere ->
  N ^ (n1 * S k) <= length Ls * (length Lt ^ x1 * length Lb ^ (n1 * x0 + x0)).
Proof.
  intros Hy Hk Hlt HC.
  assert (PN : 0 < N) by (unfold N; nia).
  assert (PB : B <> []).
  { intros E. assert (length B = 0) by (rewrite E; reflexivity). unfold B in H. rewrite nwords_length in H.
    apply (Nat.pow_nonzero N N); lia. }
  destruct (popular_in Sg_dec sig2 Ls B PB Hsig2) as [s HS].
  set (S0 := filter (fun z2 => if Sg_dec (sig2 z2) s then true else false) B) in *.
  destruct (popular (fun z1 => lin1 z1 s) K1 A) as [c [_ HL]].
  { intros; apply Hlin1. } { pose proof (Hlin1 [] s). lia. }
  set (G := filter (fun z1 => lin1 z1 s =? c) A) in *.
  assert (HK : m ^ m <= K1 * length G) by (unfold A in HL; rewrite nwords_length in HL; exact HL).
  assert (GA : incl G A) by (intros z Hz; apply filter_In in Hz; tauto).
  destruct (cover m x0 y Hy x1 k K1 G GA (filter_NoDup _ _ (nwords_NoDup m m)) HK Hk Hlt)
    as [b [Z [I [Hb [LZ [IZ [LI [NI HI]]]]]]]].
  set (P := seq (b * x0) x0).
  assert (HP : forall z0, In z0 P -> z0 < m) by (intros z0 H; apply in_seq in H; nia).
  assert (HI' : forall v, In v I -> v < m /\ exists z1 z0, In z1 Z /\ In z0 P /\ nth z0 z1 0 = v).
  { intros v Hv. destruct (HI v Hv) as [Hvm [z [i [Hz [Hi E]]]]]. split; [exact Hvm|]. exists z, i.
    split; [exact Hz|]. split; [apply in_seq; lia|exact E]. }
  assert (ZA : incl Z A) by (intros z Hz; apply GA, IZ, Hz).
  assert (F := heard_count s c P Z I S0 HP ZA HI' (filter_NoDup _ _ (nwords_NoDup N N))
    (fun z H => proj1 (proj1 (filter_In _ _ _) H))
    (fun z2 H => match Sg_dec (sig2 z2) s as d return (if d then true else false) = true -> sig2 z2 = s with
                 | left e => fun _ => e | right _ => fun E => match diff_false_true E with end end
                 (proj2 (proj1 (filter_In _ _ _) H)))
    (fun z1 H => proj1 (Nat.eqb_eq _ _) (proj2 (proj1 (filter_In _ _ _) (IZ z1 H)))) HC).
  pose proof (asked_count P Z I NI HI') as RC. set (u := length (unasked I)) in *. rewrite LI in RC.
  unfold P in F. rewrite LZ, seq_length in F.
  assert (LB : length B = N ^ N) by apply nwords_length.
  assert (PU : N ^ u <> 0) by (apply Nat.pow_nonzero; lia).
  apply (Nat.mul_le_mono_pos_r _ _ (N ^ u)); [lia|]. rewrite <- Nat.pow_add_r.
  transitivity (N ^ N); [apply Nat.pow_le_mono_r; [lia|exact RC]|].
  rewrite <- LB. etransitivity; [exact HS|]. rewrite <- (Nat.mul_assoc _ _ (N ^ u)). apply Nat.mul_le_mono_l.
  etransitivity; [exact F|]. rewrite !Nat.pow_add_r. apply Nat.eq_le_incl. ring.
Qed.
End Conversation.

(** ** The network *)
Theorem hybrid_errs_cover (M : hybrid) (m n1 s s' beta x0 x1 y k a b c e : nat) :
  0 < m -> 0 < n1 -> y * x0 <= m -> k < m -> k <= x1 * x0 ->
  2 ^ a * k ^ b <= m ^ b -> m ^ c <= 2 ^ e * (m - k) ^ c ->
  s * x1 * (b * c) + y * (m - k) * (e * b) < y * (x1 * x0 - k) * (a * c) ->
  2 ^ (s + x1 * s' + beta * ((n1 + 1) * x0)) < (n1 * m) ^ (n1 * S k) ->
  size_le M m n1 s s' beta -> errs_on_two_hops (run_hybrid M) m n1.
Proof.
  intros Hm Hn Hy Hk HT Ha He Hcov Hlt [Hpre [Hpost [Lb [L3 H5]]]].
  destruct (Hpre (n1 * m) ltac:(lia)) as [Lp [L0 Hp]]. destruct (Hpre (n1 * m + m) ltac:(lia)) as [Ls [L1 Hs]].
  destruct (Hpost (n1 * m + m) ltac:(lia)) as [Lt [L2 Ht]].
  apply net_errs. intros HC.
  pose proof (cover_bits s x1 y m k (x1 * x0) a b c e Hk HT Ha He Hcov) as Cov.
  assert (Cov' : length Ls ^ x1 * (binom m k * k ^ (x1 * x0)) ^ y < m ^ (x1 * (y * x0))).
  { replace (x1 * (y * x0)) with (x1 * x0 * y) by ring. eapply Nat.le_lt_trans; [|exact Cov].
    apply Nat.mul_le_mono_r, Nat.pow_le_mono_l, L1. }
  pose proof (two_hops_cover m n1 _ _ _ _ (h_dec M) (p_sig2 _ _ _ (h_pre M) (h_sp0 M) (h_e2 M))
    (p_tau1 _ _ _ _ _ _ _ (h_pre M) (h_sp0 M) (h_post M) (h_sq0 M) (h_add M) (h_zero M) (h_query M) (h_contrib M) (h_mlp M)
       (h_e2 M) (h_e1 M))
    (p_lin1 _ _ _ (h_dec M) (h_pre M) (h_e1 M) Ls)
    (p_reply _ _ _ _ _ (h_pre M) (h_sp0 M) (h_add M) (h_zero M) (h_contrib M) (h_e2 M))
    (p_q0 _ _ _ _ (h_pre M) (h_sp0 M) (h_query M) (h_e0 M) Ls)
    (p_qm _ _ _ _ (h_pre M) (h_sp0 M) (h_query M) (h_e0 M) (h_ew M) Ls)
    (p_out _ _ _ _ _ _ _ (h_dec M) (h_pre M) (h_sp0 M) (h_post M) (h_add M) (h_zero M) (h_query M) (h_contrib M) (h_mlp M)
       (h_e1 M) (h_e0 M) (h_ew M) Ls)
    (length Ls) Lp Lt Lb
    (lin1_lt m n1 _ _ _ (h_dec M) (h_pre M) (h_sp0 M) (h_e1 M) (h_e0 M) Ls Hs)
    (sig2_in m n1 _ _ _ (h_pre M) (h_sp0 M) (h_e2 M) (h_e1 M) (h_e0 M) (h_ew M) Lp Hp)
    (tau1_in m n1 _ _ _ _ _ _ _ (h_pre M) (h_sp0 M) (h_post M) (h_sq0 M) (h_add M) (h_zero M) (h_query M) (h_contrib M)
       (h_mlp M) (h_e2 M) (h_e1 M) Lt Ht)
    H5 Hm Hn x0 x1 y k Hy ltac:(lia) Cov') as E.
  apply (Nat.lt_irrefl (2 ^ (s + x1 * s' + beta * ((n1 + 1) * x0)))). eapply Nat.lt_le_trans; [exact Hlt|].
  etransitivity; [apply E|].
  - intros w z0 z1 z2 H1 H2 H3 H4.
    rewrite <- (net_is_protocol m n1 _ _ _ _ _ _ _ (h_dec M) (h_pre M) (h_sp0 M) (h_post M) (h_sq0 M) (h_add M) (h_zero M)
      (h_assoc M) (h_unit M) (h_query M) (h_contrib M) (h_mlp M) (h_e2 M) (h_e1 M) (h_e0 M) (h_ew M) Ls Hs w z0 z1 z2 H3 H4).
    apply HC; assumption.
  - transitivity (2 ^ s * ((2 ^ s') ^ x1 * (2 ^ beta) ^ (n1 * x0 + x0))).
    + repeat apply Nat.mul_le_mono; try assumption; apply Nat.pow_le_mono_l; assumption.
    + rewrite <- !Nat.pow_mul_r, <- !Nat.pow_add_r. apply Nat.pow_le_mono_r; [lia|]. nia.
Qed.

Local Open Scope N_scope.
(** The free sizes: x0 entries of each of y blocks, x1 functions, more than k values; the fractions a/b <= log2(m/k),
    e/c >= log2(m/(m - k)) and p/q <= log2(n1 m). *)
Definition chk_cover (m n1 s s' beta x0 x1 y k a b c e p q : N) : bool :=
  (0 <? n1) && (y * x0 <=? m) && (k <? m) && (k <=? x1 * x0) &&
  (2 ^ a * k ^ b <=? m ^ b) && (m ^ c <=? 2 ^ e * (m - k) ^ c) &&
  (s * x1 * (b * c) + y * (m - k) * (e * b) <? y * (x1 * x0 - k) * (a * c)) &&
  power_exceeds (s + x1 * s' + beta * ((n1 + 1) * x0)) (n1 * (k + 1)) (n1 * m) p q.
Theorem cannot_sandwich m n1 s s' beta x0 x1 y k a b c e p q :
  chk_cover m n1 s s' beta x0 x1 y k a b c e p q = true ->
  forall M : hybrid,
  size_le M (N.to_nat m) (N.to_nat n1) (N.to_nat s) (N.to_nat s') (N.to_nat beta) ->
  errs_on_two_hops (run_hybrid M) (N.to_nat m) (N.to_nat n1).
Proof.
  unfold chk_cover. rewrite !andb_true_iff, !N.ltb_lt, !N.leb_le.
  intros [[[[[[[H0 H1] H2] H3] H4] H5] H6] H8] M HS.
  apply power_exceeds_sound in H8. apply to_nat_lt in H0, H2, H6. apply to_nat_le in H1, H3, H4, H5.
  to_nat_in H1. to_nat_in H3. to_nat_in H4. to_nat_in H5. to_nat_in H6.
  repeat first [rewrite N2Nat.inj_sub in H5 | rewrite N2Nat.inj_sub in H6 | rewrite N2Nat.inj_mul in H6].
  repeat first [rewrite N2Nat.inj_add in H8 | rewrite N2Nat.inj_mul in H8].
  change (N.to_nat 2) with 2%nat in *. change (N.to_nat 1) with 1%nat in *. change (N.to_nat 0) with 0%nat in *.
  rewrite (Nat.add_1_r (N.to_nat k)) in H8.
  apply (hybrid_errs_cover M _ _ (N.to_nat s) (N.to_nat s') (N.to_nat beta) (N.to_nat x0) (N.to_nat x1) (N.to_nat y)
           (N.to_nat k) (N.to_nat a) (N.to_nat b) (N.to_nat c) (N.to_nat e)); try assumption; lia.
Qed.
