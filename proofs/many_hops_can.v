(** The other half of the depth rule, in the same model: a stack of ANY shape with kappa + T phi >= L,
    of one kind of full layer and one kind of linear layer, solves composition of L hops with T
    thoughts, with logarithmically many bits a layer.  What tokens learn is counted in depth_rule.v;
    here it is shown that layers do that.  A full layer takes the first entry that fits its query: a sum
    in a monoid that does not commute, not softmax.  A thought is latent: it holds all that the last
    token held.  That weights with softmax do it, in p bits, is Limen's constructions' to show. *)
From Coq Require Import List Arith Lia Bool PeanoNat.
Import ListNotations.
From Limen Require Import counting streaming_state many_hops many_hops_stack many_hops_sizes many_hops_thoughts.
From Limen Require each_w_stack depth_rule.
Import each_w_stack(monoid, carrier, add, zero, add_assoc, add_zero, total, total_app).

(** What a token holds of the chain: nothing, or (t, i_t). *)
Notation held := (option (nat * nat)).
Inductive thing := Entry (k p v : nat) | Start (z : nat) (r : held) | Word (ws : list nat) (r : held).

(** Sums: the first entry that fits the query, and the first token z_0. *)
Definition first {A} (a b : option A) : option A := match a with Some _ => a | None => b end.
Definition sums : Type := (option nat * option (nat * held))%type.
Definition firsts : monoid.
Proof.
  refine {| carrier := sums; add := fun a b => (first (fst a) (fst b), first (snd a) (snd b)); zero := (None, None) |}.
  - intros [[a|] [b|]] [[c|] [d|]] [[e|] [f|]]; reflexivity.
  - intros [a b]. reflexivity.
Defined.
Definition held_dec : forall a b : held, {a = b} + {a <> b}.
Proof. repeat decide equality. Defined.
Definition seen_dec : forall a b : option (nat * held), {a = b} + {a <> b}.
Proof. repeat decide equality. Defined.
Definition sums_dec : forall a b : sums, {a = b} + {a <> b}.
Proof. repeat decide equality. Defined.

Section Can.
Variables (m : nat) (ns : list nat) (top : nat).
Let L := length ns.
(** V_t *)
Fixpoint width (V : nat) (ns : list nat) (t : nat) : nat :=
  match t, ns with S t, n :: ns => width (n * V) ns t | _, _ => V end.

(** The token z_0 as it is seen, if its numbers are small. *)
Definition small (z : nat) (r : held) : bool :=
  (z <? top) && match r with None => true | Some (t, x) => (t <? 2) && (x <? top) end.
Definition asks (h : thing) : option (nat * nat) :=
  match h with
  | Word ws (Some (t, x)) => Some (t, nth t ws 0 * width m ns t + x)
  | Start z _ => Some (0, z)
  | _ => None
  end.
Definition offers (q : option (nat * nat)) (h : thing) : sums :=
  match h with
  | Entry k p v => match q with
                   | Some (t, a) => if (k =? t) && (p =? a) && (v <? top) then (Some v, None) else (None, None)
                   | None => (None, None) end
  | Start z r => if small z r then (None, Some (z, r)) else (None, None)
  | Word _ _ => (None, None)
  end.
Definition the_heads : attention thing :=
  {| Q := option (nat * nat); C := firsts; C_dec := sums_dec; query := asks; contrib := offers |}.
Definition no_memory : recurrent thing :=
  {| St := unit; St_dec := fun a b => match a, b with tt, tt => left eq_refl end; O := unit; st0 := tt;
     step := fun _ _ => (tt, tt) |}.
(** One look-up; who has arrived stays; as [advance] in depth_rule.v. *)
Definition next (r : held) (c : sums) : held :=
  match r with
  | None => match snd c with Some (z, _) => Some (0, z) | None => None end
  | Some (t, x) => if t <? L then match fst c with Some v => Some (S t, v) | None => r end else r
  end.
Definition of_start (c : option (nat * held)) : held := match c with Some (_, r) => r | None => None end.
Definition full_layer : layer thing :=
  Full the_heads no_memory (fun h c _ =>
    match h with
    | Entry _ _ _ => h
    | Start z r => Start z (if depth_rule.count r <? 2 then next r c else r)
    | Word ws r => Word ws (depth_rule.better (next r c) (of_start (snd c)))
    end).
Definition linear_layer : layer thing :=
  Linear {| St := option (nat * held); St_dec := seen_dec; O := option (nat * held); st0 := None;
            step := fun q h => match h with
                               | Start z r => if small z r then (first q (Some (z, r)), first q (Some (z,
                                 r))) else (q, q)
                               | _ => (q, q) end |}
    (fun h c => match h with Word ws r => Word ws (depth_rule.better r (of_start c)) | _ => h end).
Definition layer_of (full : bool) : layer thing := if full then full_layer else linear_layer.
Definition network (shape : list bool) : list (layer thing) := map layer_of shape.
Definition go_on (_ : nat) (h : option thing) : thing := match h with Some h => h | None => Start 0 None end.
Definition said (h : thing) : nat := match h with Word _ (Some (_, x)) => x | _ => 0 end.

Definition kind_of (full : bool) : depth_rule.layer := if full then depth_rule.HeadWise else depth_rule.Linear.

(** ** Values of the chain *)
Definition look (V : nat) (ns ws : list nat) (zs : list (list nat)) (t x : nat) : nat :=
  nth (nth t ws 0 * width V ns t + x) (nth t zs []) 0.
Lemma value_S z f t : depth_rule.value z f (S t) = depth_rule.value (f 0 z) (fun t => f (S t)) t.
Proof. induction t as [|t IH]; [reflexivity|].
change (f (S t) (depth_rule.value z f (S t)) = f (S t) (depth_rule.value (f 0 z) (fun t => f (S t)) t)). rewrite IH.
reflexivity. Qed.
Lemma values ls' : forall V i ws zs, i < V -> In ws (parts ls') -> In zs (tables V ls') ->
  (forall t, t <= length ls' -> depth_rule.value i (look V ls' ws zs) t < width V ls' t) /\
  depth_rule.value i (look V ls' ws zs) (length ls') = chain V i ls' ws zs.
Proof.
  induction ls' as [|n ls' IH]; intros V i ws zs Hi Hw Hz.
  - split; [intros t Ht; assert (t = 0) by (simpl in Ht; lia); subst; exact Hi|reflexivity].
  - destruct (tables_cons _ _ _ _ Hz) as [z [r ->]]. apply in_tables in Hz. destruct Hz as [Hz Hr].
    destruct ws as [|w ws].
    { exfalso. unfold parts in Hw. simpl in Hw. apply in_flat_map in Hw. destruct Hw as [a [_ Hw]].
      apply in_map_iff in Hw. destruct Hw as [b [E _]]. discriminate. }
    apply in_parts in Hw. destruct Hw as [Hw Hws].
    assert (Hv : look V (n :: ls') (w :: ws) (z :: r) 0 i < n * V).
    { unfold look. simpl. apply (nwords_nth (n * V)); [exact Hz|nia]. }
    destruct (IH (n * V) _ ws r Hv Hws Hr) as [I1 I2]. split.
    + intros [|t] Ht; [exact Hi|]. rewrite value_S. apply I1. simpl in Ht. lia.
    + cbn [length]. rewrite value_S. etransitivity; [exact I2|]. reflexivity.
Qed.
Lemma table_lengths ls' : forall V ws zs t, In ws (parts ls') -> In zs (tables V ls') -> t < length ls' ->
  length (nth t zs []) = nth t ls' 0 * width V ls' t /\ nth t ws 0 < nth t ls' 0.
Proof.
  induction ls' as [|n ls' IH]; intros V ws zs t Hws Hzs Ht; [simpl in Ht; lia|].
  destruct (tables_cons _ _ _ _ Hzs) as [z [r ->]]. apply in_tables in Hzs. destruct Hzs as [Hz Hr].
  destruct ws as [|w ws].
  { exfalso. unfold parts in Hws. simpl in Hws. apply in_flat_map in Hws. destruct Hws as [a [_ Hw]].
    apply in_map_iff in Hw. destruct Hw as [b [E _]]. discriminate. }
  apply in_parts in Hws. destruct Hws as [Hw Hws]. destruct t as [|t].
  - simpl. apply in_nwords in Hz. split; [tauto|exact Hw].
  - simpl. apply IH; [exact Hws|exact Hr|simpl in Ht; lia].
Qed.
Lemma width_le ls' : Forall (lt 0) ls' -> forall V t, width V ls' t <= V * prod ls'.
Proof.
  induction 1 as [|n ls' Hn Hls IH]; intros V t.
  - destruct t; simpl; lia.
  - destruct t as [|t]; simpl.
    + apply le_mul_r; [lia|]. apply Nat.mul_pos_pos; [exact Hn|apply prod_pos, Hls].
    + etransitivity; [apply IH|]. apply Nat.eq_le_incl. ring.
Qed.

(** ** Looking up *)
Definition found (q : option (nat * nat)) (xs : list thing) : sums := @total firsts thing (offers q) xs.
Lemma found_app q a b : found q (a ++ b) = (first (fst (found q a)) (fst (found q b)),
  first (snd (found q a)) (snd (found q b))).
Proof. apply (@total_app firsts). Qed.
Lemma found_block t a k z : forall i, found (Some (t, a)) (wrv (Entry k) i z)
  = (if (k =? t) && (i <=? a) && (a <? i + length z) && (nth (a - i) z 0 <? top) then Some (nth (a - i) z 0) else None, None).
Proof.
  induction z as [|v z IH]; intros i.
  - simpl. replace (a <? i + 0) with (a <? i) by (f_equal; lia).
    destruct (k =? t), (i <=? a) eqn:E1, (a <? i) eqn:E2; simpl; try reflexivity.
    apply Nat.leb_le in E1. apply Nat.ltb_lt in E2. lia.
  - change (wrv (Entry k) i (v :: z)) with ([Entry k i v] ++ wrv (Entry k) (S i) z). rewrite found_app, IH.
    change (found (Some (t, a)) [Entry k i v])
      with (first (fst (offers (Some (t, a)) (Entry k i v))) None, first (snd (offers (Some (t,
        a)) (Entry k i v))) None).
    unfold offers. cbn [length]. destruct (k =? t); cbn [andb first fst snd]; [|reflexivity].
    destruct (lt_eq_lt_dec a i) as [[Hp|Hp]|Hp].
    + replace (i =? a) with false by (symmetry; apply Nat.eqb_neq; lia).
      replace (i <=? a) with false by (symmetry; apply Nat.leb_gt; lia).
      replace (S i <=? a) with false by (symmetry; apply Nat.leb_gt; lia). reflexivity.
    + subst a. rewrite Nat.eqb_refl, Nat.leb_refl, Nat.sub_diag.
      replace (S i <=? i) with false by (symmetry; apply Nat.leb_gt; lia).
      replace (i <? i + S (length z)) with true by (symmetry; apply Nat.ltb_lt; lia).
      cbn [andb first nth fst snd]. destruct (v <? top); reflexivity.
    + replace (i =? a) with false by (symmetry; apply Nat.eqb_neq; lia).
      replace (i <=? a) with true by (symmetry; apply Nat.leb_le; lia).
      replace (S i <=? a) with true by (symmetry; apply Nat.leb_le; lia). cbn [andb first fst snd].
      replace (a - i) with (S (a - S i)) by lia. cbn [nth].
      replace (i + S (length z)) with (S i + length z) by lia. reflexivity.
Qed.
Lemma found_above zs : forall k t a, t < k -> found (Some (t, a)) (text thing Entry k zs) = (None, None).
Proof.
  induction zs as [|z zs IH]; intros k t a Ht; [reflexivity|]. simpl. rewrite found_app, IH by lia.
  unfold block. rewrite found_block. replace (k =? t) with false by (symmetry; apply Nat.eqb_neq; lia). reflexivity.
Qed.
Lemma found_text ls' : forall k V zs t a, Forall (lt 0) ls' -> In zs (tables V ls') -> V * prod ls' <= top ->
  t < length ls' -> a < length (nth t zs []) ->
  found (Some (k + t, a)) (text thing Entry k zs) = (Some (nth a (nth t zs []) 0), None).
Proof.
  induction ls' as [|n ls' IH]; intros k V zs t a Fn Hz Htop Ht Hp; [simpl in Ht; lia|].
  destruct (tables_cons _ _ _ _ Hz) as [z [r ->]]. apply in_tables in Hz. destruct Hz as [Hz Hr].
  inversion Fn as [|? ? Pn Fn']; subst. simpl text. rewrite found_app. destruct t as [|t].
  - rewrite Nat.add_0_r, found_above by lia. unfold block. rewrite found_block, Nat.eqb_refl, Nat.sub_0_r.
    simpl nth in *. replace (a <? 0 + length z) with true by (symmetry; apply Nat.ltb_lt; exact Hp).
    assert (Hv : nth a z 0 < n * V).
    { apply (nwords_nth (n * V)); [exact Hz|]. apply in_nwords in Hz. lia. }
    assert (G : n * V <= top).
    { etransitivity; [|exact Htop]. simpl prod. rewrite Nat.mul_comm, Nat.mul_assoc. apply le_mul_r; [lia|].
      apply prod_pos in Fn'. lia. }
    replace (nth a z 0 <? top) with true by (symmetry; apply Nat.ltb_lt; lia). reflexivity.
  - simpl nth in *. replace (k + S t) with (S k + t) by lia.
    assert (Htop' : n * V * prod ls' <= top) by (etransitivity; [|exact Htop]; simpl; apply Nat.eq_le_incl; ring).
    rewrite (IH (S k) (n * V) r t a Fn' Hr Htop' ltac:(simpl in Ht; lia) Hp).
    cbn [first fst snd]. f_equal. unfold block. rewrite found_block. reflexivity.
Qed.
Lemma found_tables q zs : forall k, snd (found q (text thing Entry k zs)) = None.
Proof.
  assert (E : forall l, Forall (fun h => match h with
    Entry _ _ _ => True | _ => False end) l -> snd (found q l) = None).
  { induction 1 as [|h l Hh Hl IH]; [reflexivity|]. change (h :: l) with ([h] ++ l). rewrite found_app. cbn [snd].
    rewrite IH.
    destruct h; try destruct Hh. destruct q as [[t a]|]; simpl; [destruct ((k =? t) && (p =? a) && (v <? top))|];
      reflexivity. }
  induction zs as [|z zs IH]; intros k; [reflexivity|]. simpl. rewrite found_app. cbn [snd]. rewrite IH. apply E.
  unfold block. generalize 0. induction z as [|v z IHz]; intros i; constructor; [exact I|apply IHz].
Qed.

Lemma full_after (q : St (memory full_layer)) xs : after full_layer q xs = tt.
Proof. change (St (memory full_layer)) with unit in *. destruct (after full_layer q xs). reflexivity. Qed.
(** Entries stay what they are. *)
Lemma full_text zs : forall k past, go full_layer tt past (text thing Entry k zs) = text thing Entry k zs.
Proof.
  induction zs as [|z zs IH]; intros k past; [reflexivity|]. simpl text.
  rewrite go_app. f_equal; [apply IH|]. rewrite full_after.
  unfold block. generalize 0 (past ++ text thing Entry (S k) zs).
  induction z as [|v z IHz]; intros i past'; [reflexivity|]. cbn [wrv go]. simpl step. cbv iota beta. f_equal.
  apply IHz.
Qed.
Lemma linear_text zs : forall k past, go linear_layer None past (text thing Entry k zs) = text thing Entry k zs /\
  after linear_layer None (text thing Entry k zs) = None.
Proof.
  induction zs as [|z zs IH]; intros k past; [split; reflexivity|]. simpl text.
  rewrite go_app, after_app. destruct (IH (S k) past) as [I1 I2].
  rewrite I1. split.
  - f_equal. rewrite I2. unfold block. generalize 0 (past ++ text thing Entry (S k) zs).
    induction z as [|v z IHz]; intros i past'; [reflexivity|]. cbn [wrv go]. simpl step. cbv iota beta. f_equal.
    apply IHz.
  - rewrite I2. unfold block. generalize 0.
    induction z as [|v z IHz]; intros i; [reflexivity|]. simpl. apply IHz.
Qed.

(** ** One input *)
Section Input.
Variables (z0 : nat) (ws : list nat) (zs : list (list nat)).
Hypothesis Hz0 : z0 < m.
Hypothesis Hws : In ws (parts ns).
Hypothesis Hzs : In zs (tables m ns).
Hypothesis Hns : Forall (lt 0) ns.
Hypothesis Hn0 : hd 0 ns = 1.
Hypothesis Htop : m * prod ns <= top.

Let f := look m ns ws zs.
Let truthful := depth_rule.truthful z0 f L.
Let advance := depth_rule.advance z0 f L.
Let txt := text thing Entry 0 zs.
Lemma L_pos : 0 < L.
Proof. unfold L. destruct ns; [discriminate|simpl; lia]. Qed.
Lemma table_length t : t < L -> length (nth t zs []) = nth t ns 0 * width m ns t /\ nth t ws 0 < nth t ns 0.
Proof. apply table_lengths; assumption. Qed.
(** A query whose address is in a table gets the entry. *)
Lemma found_entry t x rest : t < L -> x < width m ns t ->
  fst (found (Some (t, nth t ws 0 * width m ns t + x)) (txt ++ rest)) = Some (f t x).
Proof.
  intros Ht Hx. destruct (table_length t Ht) as [Lt Hw].
  assert (A : nth t ws 0 * width m ns t + x < length (nth t zs [])) by (rewrite Lt; nia).
  rewrite found_app. unfold txt. pose proof (found_text ns 0 m zs t _ Hns Hzs Htop Ht A) as G. simpl plus in G.
  rewrite G. reflexivity.
Qed.
Lemma truthful_small t x : truthful (Some (t, x)) -> x < width m ns t /\ x < top /\ t <= L.
Proof.
  intros [-> Ht]. destruct (values ns m z0 ws zs Hz0 Hws Hzs) as [Hv _]. specialize (Hv t Ht). fold f in Hv.
  pose proof (width_le ns Hns m t). repeat split; [exact Hv|lia|exact Ht].
Qed.
Lemma z0_small : z0 < top.
Proof.
  assert (0 < prod ns) by (apply prod_pos, Hns). assert (m <= m * prod ns) by (apply le_mul_r; lia). lia.
Qed.

(** What the token z_0 holds: i_0 or i_1. *)
Definition good (r0 : held) : Prop := truthful r0 /\ 1 <= depth_rule.count r0 <= 2.
Lemma good_small r0 : good r0 -> small z0 r0 = true.
Proof.
  intros [Ht Hc]. unfold small. pose proof z0_small as Z. apply Nat.ltb_lt in Z. rewrite Z. destruct r0 as [[t x]|];
    [|reflexivity].
  apply truthful_small in Ht. simpl in Hc. simpl. apply andb_true_iff. split; apply Nat.ltb_lt; lia.
Qed.
Lemma found_start q r0 rest : good r0 -> snd (found q (txt ++ Start z0 r0 :: rest)) = Some (z0, r0).
Proof.
  intros G. rewrite found_app. cbn [snd]. unfold txt. rewrite found_tables. cbn [first].
  change (Start z0 r0 :: rest) with ([Start z0 r0] ++ rest). rewrite found_app. cbn [snd].
  change (found q [Start z0 r0]) with (first (fst (offers q (Start z0 r0))) None,
    first (snd (offers q (Start z0 r0))) None).
  unfold offers. rewrite (good_small r0 G). reflexivity.
Qed.

(** *** One layer *)
Definition tokens (r0 : held) (rs : list held) : list thing := txt ++ Start z0 r0 :: map (Word ws) rs.
Lemma full_txt past : go full_layer tt past txt = txt. Proof. apply full_text. Qed.
Lemma linear_txt past : go linear_layer None past txt = txt /\ after linear_layer None txt = None.
Proof. apply linear_text. Qed.
(** A word advances, and the token z_0. *)
Lemma next_word r r0 rest : truthful r -> good r0 ->
  next r (found (asks (Word ws r)) (txt ++ Start z0 r0 :: rest)) = advance r.
Proof.
  intros Hr G. destruct r as [[t x]|].
  - destruct (truthful_small t x Hr) as [Hx [_ Ht]]. unfold next, advance, depth_rule.advance.
    destruct (t <? L) eqn:E; [|reflexivity]. apply Nat.ltb_lt in E. unfold asks.
    rewrite (found_entry t x _ E Hx). reflexivity.
  - unfold next, advance, depth_rule.advance. rewrite (found_start _ r0 rest G). reflexivity.
Qed.
Lemma next_start r0 rest : good r0 -> depth_rule.count r0 < 2 ->
  next r0 (found (Some (0, z0)) (txt ++ rest)) = advance r0.
Proof.
  intros [Ht Hc] H2. destruct r0 as [[t x]|]; [|simpl in Hc; lia]. simpl in Hc, H2. assert (t = 0) by lia. subst t.
  destruct Ht as [Ex _]. simpl in Ex. subst x. pose proof L_pos as PL.
  unfold next, advance, depth_rule.advance. apply Nat.ltb_lt in PL. rewrite PL. apply Nat.ltb_lt in PL.
  destruct (table_length 0 PL) as [_ Hw]. assert (E0 : nth 0 ns 0 = 1) by (rewrite <- Hn0; destruct ns; reflexivity).
  assert (Ew : nth 0 ws 0 = 0) by lia.
  pose proof (found_entry 0 z0 rest PL) as G. rewrite Ew in G. simpl in G. rewrite G; [reflexivity|].
  destruct ns; exact Hz0.
Qed.
Lemma full_words r0 rs : good r0 -> Forall truthful rs -> forall rest,
  go full_layer tt (txt ++ Start z0 r0 :: rest) (map (Word ws) rs) = map (fun r => Word ws (depth_rule.better (advance r) r0)) rs.
Proof.
  intros G. induction 1 as [|r rs Hr Hrs IH]; intros rest; [reflexivity|]. cbn [map go]. simpl step. cbv iota beta.
  rewrite <- app_assoc. cbn [app]. f_equal; [|apply IH].
  change (told full_layer (Word ws r) (txt ++ Start z0 r0 :: rest ++ [Word ws r]))
    with (found (asks (Word ws r)) (txt ++ Start z0 r0 :: rest ++ [Word ws r])).
  cbn [joined full_layer]. rewrite next_word by assumption. rewrite found_start by exact G. reflexivity.
Qed.
Lemma full_run r0 rs : good r0 -> Forall truthful rs -> run_layer full_layer (tokens r0 rs)
  = tokens (if depth_rule.count r0 <? 2 then advance r0 else r0) (map (fun r => depth_rule.better (advance r) r0) rs).
Proof.
  intros G F. unfold run_layer, tokens. rewrite go_app. change (st0 (memory full_layer)) with tt. rewrite full_txt.
  f_equal. rewrite full_after. change ([] ++ txt) with txt. cbn [go]. simpl step. cbv iota beta. f_equal.
  - change (told full_layer (Start z0 r0) (txt ++ [Start z0 r0])) with (found (Some (0, z0)) (txt ++ [Start z0 r0])).
    cbn [joined full_layer]. f_equal. destruct (depth_rule.count r0 <? 2) eqn:E; [|reflexivity].
    apply Nat.ltb_lt in E. apply next_start; assumption.
  - rewrite map_map. apply (full_words r0 rs G F []).
Qed.
Lemma linear_words r0 rs : forall rest,
  go linear_layer (Some (z0, r0)) rest (map (Word ws) rs) = map (fun r => Word ws (depth_rule.better r r0)) rs.
Proof.
  induction rs as [|r rs IH]; intros rest; [reflexivity|]. cbn [map go]. simpl step. cbv iota beta. f_equal. apply IH.
Qed.
Lemma linear_run r0 rs : good r0 -> run_layer linear_layer (tokens r0 rs) = tokens r0 (map (fun r => depth_rule.better r r0) rs).
Proof.
  intros G. unfold run_layer, tokens. rewrite go_app. change (st0 (memory linear_layer)) with (@None (nat * held)).
  destruct (linear_txt []) as [E1 E2]. rewrite E1, E2. f_equal. cbn [go]. simpl step. rewrite (good_small r0 G).
  cbv iota beta. f_equal. rewrite map_map. apply linear_words.
Qed.

(** *** The stack *)
Let through := depth_rule.through z0 f L.
Lemma layer_run b r0 rs : good r0 -> Forall truthful rs ->
  run_layer (layer_of b) (tokens r0 rs)
  = tokens (snd (through (kind_of b) (None, r0))) (map (fun r => fst (through (kind_of b) (r, r0))) rs).
Proof.
  intros G F. destruct b; [apply full_run; assumption|apply linear_run; assumption].
Qed.
Lemma truthful_count r : truthful r -> depth_rule.count r <= S L.
Proof. destruct r as [[t x]|]; simpl; [intros [_ H]; lia|lia]. Qed.
Lemma through_good b r r0 : truthful r -> good r0 ->
  truthful (fst (through (kind_of b) (r, r0))) /\ good (snd (through (kind_of b) (r, r0))).
Proof.
  intros Hr [H0 Hc]. pose proof L_pos.
  destruct (depth_rule.through_spec z0 f L (kind_of b) r r0 Hr H0) as [T1 [T2 [_ [T3 _]]]];
    [lia|apply truthful_count, Hr|]. split; [exact T1|]. split; [exact T2|].
  destruct T3 as [A B]. split; [exact A|]. etransitivity; [exact B|]. lia.
Qed.
Lemma snd_through l r r' r0 : snd (through l (r, r0)) = snd (through l (r', r0)).
Proof. destruct l; reflexivity. Qed.
Let fold shape now := fold_left (fun now l => through l now) (map kind_of shape) now.
Lemma network_run shape : forall r0 rs, good r0 -> Forall truthful rs -> exists r0',
  run (network shape) (tokens r0 rs) = tokens r0' (map (fun r => fst (fold shape (r, r0))) rs) /\
  Forall (fun r => truthful (fst (fold shape (r, r0)))) rs.
Proof.
  induction shape as [|b shape IH]; intros r0 rs G F.
  - exists r0. split; [unfold fold; simpl; rewrite map_id; reflexivity|]. exact F.
  - unfold network. cbn [map]. rewrite run_cons, layer_run by assumption.
    set (r0' := snd (through (kind_of b) (None, r0))).
    assert (G' : good r0') by (apply through_good; [exact I|exact G]).
    assert (F' : Forall truthful (map (fun r => fst (through (kind_of b) (r, r0))) rs)).
    { apply Forall_map. eapply Forall_impl; [|exact F]. intros r Hr. apply through_good; assumption. }
    assert (E : forall r, through (kind_of b) (r, r0) = (fst (through (kind_of b) (r, r0)), r0')).
    { intros r. unfold r0'. rewrite (snd_through _ None r). apply surjective_pairing. }
    destruct (IH r0' _ G' F') as [r0'' [I1 I2]]. exists r0''. split.
    + fold (network shape). rewrite I1, map_map. f_equal. apply map_ext. intros r. unfold fold. cbn [map fold_left].
      rewrite <- E. reflexivity.
    + rewrite Forall_map in I2. eapply Forall_impl; [|exact I2]. intros r Hr. unfold fold in *. cbn [map fold_left].
      rewrite E. exact Hr.
Qed.

(** *** Thoughts *)
Let pass shape := depth_rule.pass z0 f L (map kind_of shape).
Lemma start_good : good (Some (0, z0)).
Proof. split; [split; [reflexivity|lia]|simpl; lia]. Qed.
Lemma iter_truthful shape i : truthful (Nat.iter i (pass shape) None).
Proof.
  induction i as [|i IH]; [exact I|]. simpl.
  destruct (network_run shape (Some (0, z0)) [Nat.iter i (pass shape) None] start_good) as [r0' [_ F]];
    [repeat constructor; exact IH|]. inversion F; subst. assumption.
Qed.
Definition words (shape : list bool) (i : nat) : list held := map (fun j => Nat.iter j (pass shape) None) (seq 0 (S i)).
Lemma words_holds shape i : holds (network shape) (tokens (Some (0, z0)) (words shape i))
  = Some (Word ws (Nat.iter (S i) (pass shape) None)).
Proof.
  assert (F : Forall truthful (words shape i)) by (apply Forall_map, Forall_forall; intros j _; apply iter_truthful).
  destruct (network_run shape _ _ start_good F) as [r0' [E _]]. unfold holds. rewrite E. unfold tokens, words.
  rewrite seq_S, !map_app. cbn [map]. rewrite !map_app. cbn [map].
  rewrite app_comm_cons, app_assoc, last_last. reflexivity.
Qed.
Lemma thinking_words shape i : thinking (network shape) go_on i (tokens (Some (0, z0)) [None])
  = tokens (Some (0, z0)) (words shape i).
Proof.
  induction i as [|i IH]; [reflexivity|]. cbn [thinking]. rewrite IH, words_holds. unfold go_on, tokens, words.
  rewrite (seq_S (S i)), map_app, map_app. cbn [map]. rewrite <- app_assoc. reflexivity.
Qed.
Theorem network_solves shape T : L + 1 <= depth_rule.reach (map kind_of shape) + T * depth_rule.phi (map kind_of shape) ->
  0 < depth_rule.reach (map kind_of shape) ->
  thought_answer said (network shape) go_on T
    (input Entry (fun z => Start z (Some (0, z))) (fun ws => Word ws None) z0 ws zs) = chain m z0 ns ws zs.
Proof.
  intros HL HR. unfold thought_answer. rewrite answer_holds.
  change (input Entry (fun z => Start z (Some (0, z))) (fun ws => Word ws None) z0 ws zs) with (tokens (Some (0,
    z0)) [None]).
  rewrite thinking_words, words_holds.
  pose proof (depth_rule.depth_rule z0 f L (map kind_of shape) T HR HL) as D. unfold depth_rule.think in D.
  fold (pass shape) in D. rewrite D. simpl. apply (values ns m z0 ws zs Hz0 Hws Hzs).
Qed.
End Input.

(** ** Sizes *)
Definition bits : nat := 1 + 3 * Nat.log2_up (S top).
Definition all_held : list held := None :: map Some (list_prod (seq 0 2) (seq 0 top)).
Definition all_seen : list (option (nat * held)) := None :: map Some (list_prod (seq 0 top) all_held).
Definition all_sums : list (option nat * option (nat * held)) := list_prod (None :: map Some (seq 0 top)) all_seen.
Arguments all_held : simpl never.
Arguments all_seen : simpl never.
Arguments all_sums : simpl never.
Lemma top_bits : S top <= 2 ^ Nat.log2_up (S top).
Proof. destruct top as [|t]; [simpl; lia|]. apply Nat.log2_up_spec. lia. Qed.
Lemma all_seen_length : length all_seen = 1 + top * (1 + 2 * top).
Proof. unfold all_seen, all_held. cbn [length]. rewrite !map_length, !prod_length. cbn [length].
rewrite map_length, prod_length, !seq_length. reflexivity. Qed.
Lemma all_sums_length : length all_sums <= 2 ^ bits.
Proof.
  unfold all_sums, bits. rewrite prod_length, all_seen_length. cbn [length]. rewrite map_length, seq_length.
  rewrite Nat.pow_add_r, Nat.pow_1_r, Nat.mul_comm with (n := 3), Nat.pow_mul_r.
  transitivity (2 * S top ^ 3); [|apply Nat.mul_le_mono_l, Nat.pow_le_mono_l, top_bits].
  simpl. nia.
Qed.
Lemma all_seen_bits : length all_seen <= 2 ^ bits.
Proof.
  etransitivity; [|exact all_sums_length]. unfold all_sums. rewrite prod_length. cbn [length].
  apply le_mul_l; lia.
Qed.
Lemma in_some {A} (l : list A) a : In a l -> In (Some a) (None :: map Some l).
Proof. intros Ha. right. apply in_map, Ha. Qed.
Lemma first_in {A} (l : list (option A)) a b : In a l -> In b l -> In (first a b) l.
Proof. destruct a; auto. Qed.
Lemma small_seen z r : small z r = true -> In (Some (z, r)) all_seen.
Proof.
  unfold small. rewrite andb_true_iff, Nat.ltb_lt. intros [Hz Hr]. apply in_some, in_prod; [apply in_seq; lia|].
  destruct r as [[t x]|]; [|left; reflexivity]. rewrite andb_true_iff, !Nat.ltb_lt in Hr.
  apply in_some, in_prod; apply in_seq; lia.
Qed.
Lemma in_all_sums a b : In a (None :: map Some (seq 0 top)) -> In b all_seen -> In (a, b) all_sums.
Proof. apply in_prod. Qed.
Lemma offers_in q h : In (offers q h) all_sums.
Proof.
  assert (N : In (@None nat, @None (nat * held)) all_sums) by (apply in_all_sums; left; reflexivity).
  destruct h as [k p v|z r|ws r]; simpl.
  - destruct q as [[t a]|]; [|exact N]. destruct ((k =? t) && (p =? a)); simpl; [|exact N].
    destruct (v <? top) eqn:E; [|exact N]. apply Nat.ltb_lt in E. apply in_all_sums; [apply in_some, in_seq;
      lia|left; reflexivity].
  - destruct (small z r) eqn:E; [|exact N]. apply in_all_sums; [left; reflexivity|apply small_seen, E].
  - exact N.
Qed.
Lemma found_in q xs : In (found q xs) all_sums.
Proof.
  induction xs as [|h xs IH]; [apply in_all_sums; left; reflexivity|].
  change (found q (h :: xs)) with (first (fst (offers q h)) (fst (found q xs)),
    first (snd (offers q h)) (snd (found q xs))).
  pose proof (offers_in q h) as Ho. destruct (offers q h) as [a b], (found q xs) as [c d].
  apply in_prod_iff in Ho, IH. apply in_all_sums; apply first_in; tauto.
Qed.
Lemma memory_in xs : forall q, In q all_seen -> In (after linear_layer q xs) all_seen.
Proof.
  induction xs as [|h xs IH]; intros q Hq; [exact Hq|]. simpl. apply IH. destruct h as [k p v|z r|ws r]; simpl;
    try exact Hq.
  destruct (small z r) eqn:E; simpl; [|exact Hq]. apply (first_in all_seen); [exact Hq|apply small_seen, E].
Qed.
Theorem network_size shape n : stack_size (network shape) n bits (length shape * bits).
Proof.
  split.
  - intros l Hl Hf. apply in_map_iff in Hl. destruct Hl as [b [<- _]]. destruct b; [|discriminate].
    exists all_sums. split; [apply all_sums_length|]. intros h past _. apply (found_in (asks h) past).
  - replace (length shape * bits) with (list_sum (repeat bits (length shape))).
    2: { clear. induction shape as [|b shape IH]; [reflexivity|]. simpl. rewrite IH. reflexivity. }
    apply state_size_sum. unfold network. induction shape as [|b shape IH]; constructor; [|exact IH].
    intros t _. destruct b.
    + exists [tt]. split; [change (length [tt]) with 1; pose proof (Nat.pow_nonzero 2 bits ltac:(lia)); lia|].
      intros xs _. left. symmetry. apply full_after.
    + exists all_seen. split; [apply all_seen_bits|]. intros xs _. apply memory_in. left. reflexivity.
Qed.
Lemma network_shape shape : map is_full (network shape) = shape.
Proof. unfold network. rewrite map_map. rewrite <- (map_id shape) at 2. apply map_ext. intros []; reflexivity. Qed.
End Can.

(** ** The depth rule *)
(** A shape says which layers are full. *)
Definition kappa_of (shape : list bool) : nat := depth_rule.kappa (map kind_of shape).
Definition phi_of (shape : list bool) : nat := depth_rule.phi (map kind_of shape).
Lemma kappa_shape {H} (ls : list (layer H)) : kappa ls = kappa_of (map is_full ls).
Proof. unfold kappa, kappa_of. rewrite map_map. reflexivity. Qed.
Lemma phi_shape {H} (ls : list (layer H)) : phi ls = phi_of (map is_full ls).
Proof. unfold phi_of. rewrite map_map. symmetry. apply (phi_full ls). Qed.

(** kappa + T phi >= L is enough: every task of L hops is solved by a stack of this shape, with T thoughts,
    with replies of b and states of b bits a layer, b = 1 + 3 log2 (N_{L-1} + 1). *)
Theorem depth_rule_can shape T m ns : Forall (lt 0) ns -> hd 0 ns = 1 ->
  length ns <= kappa_of shape + T * phi_of shape ->
  let b := 1 + 3 * Nat.log2_up (S (m * prod ns)) in
  exists (H : Type) tok tok0 tokw read (ls : list (layer H)) think,
    map is_full ls = shape /\ (forall n, stack_size ls n b (length shape * b)) /\
    forall z0 ws zs, z0 < m -> In ws (parts ns) -> In zs (tables m ns) ->
      thought_answer read ls think T (input tok tok0 tokw z0 ws zs) = chain m z0 ns ws zs.
Proof.
  intros Fn Hn Hr b.
  exists thing, Entry, (fun z => Start z (Some (0, z))), (fun ws => Word ws None), said,
    (network m ns (m * prod ns) shape), go_on.
  split; [apply network_shape|]. split; [intros n; apply network_size|].
  assert (Ln : 0 < length ns) by (destruct ns; [discriminate|simpl; lia]).
  assert (Hr' : S (length ns) <= depth_rule.reach (map kind_of shape) + T * depth_rule.phi (map kind_of shape)).
  { destruct (depth_rule.kappa_lt (map kind_of shape) T (length ns) Ln) as [_ G]. unfold kappa_of, phi_of in Hr. lia. }
  intros z0 ws zs Hz Hw Hzs. apply network_solves; auto; [lia|].
  unfold depth_rule.reach in *. destruct (depth_rule.phi (map kind_of shape)); [|lia].
  destruct (depth_rule.early 0 (map kind_of shape)); lia.
Qed.

(** The dichotomy, for every shape, T and L: with kappa + T phi < L polynomially many bits are needed, of a
    reply or of all states together, at some sizes for each n; with kappa + T phi >= L logarithmically many
    are enough, at all sizes. *)
Theorem depth_rule_dichotomy shape T L : 0 < L ->
  let hops := kappa_of shape + T * phi_of shape in
  (hops < L -> exists e n0, 0 < e /\ forall n, n0 <= n -> exists m ns,
     length ns = L /\ hd 0 ns = 1 /\ size m ns + 2 <= n /\
     forall (H : Type) tok tok0 tokw read (ls : list (layer H)) think w s,
       map is_full ls = shape -> w ^ e <= n -> s ^ e <= n -> stack_size ls n w s ->
       thinker_errs tok tok0 tokw read ls think T m ns) /\
  (L <= hops -> forall m ns, length ns = L -> hd 0 ns = 1 -> Forall (lt 0) ns ->
     let b := 1 + 3 * Nat.log2_up (S (m * prod ns)) in
     exists (H : Type) tok tok0 tokw read (ls : list (layer H)) think,
       map is_full ls = shape /\ (forall n, stack_size ls n b (length shape * b)) /\
       ~ thinker_errs tok tok0 tokw read ls think T m ns).
Proof.
  intros HL hops. split.
  - intros Hh. destruct (depth_rule_cannot L HL) as [e [n0 [He Hall]]]. exists e, n0. split; [exact He|]. intros n Hn.
    destruct (Hall n Hn) as [m [ns [H1 [H2 [H3 H4]]]]]. exists m, ns. repeat (split; [assumption|]).
    intros H tok tok0 tokw read ls think w s Es. apply H4. rewrite kappa_shape, phi_shape, Es. exact Hh.
  - intros Hh m ns Ln Hn Fn b. subst L.
    destruct (depth_rule_can shape T m ns Fn Hn Hh) as [H [tok [tok0 [tokw [read [ls [think [E1 [E2 E3]]]]]]]]].
    exists H, tok, tok0, tokw, read, ls, think. split; [exact E1|]. split; [exact E2|].
    intros [z0 [ws [zs [G1 [G2 [G3 G4]]]]]]. apply G4, E3; assumption.
Qed.
