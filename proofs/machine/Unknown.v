(* Unknown candidates: two neighbours, the slots of each with their own names, and what a release of either tells. *)
From Coq Require Import Reals List Lra Lia Bool.
From Coquelicot Require Rcomplements.
From Machine Require Import Sums Laws Exponential Peeling PeelingRange Slots Unlisted.
Import ListNotations.
Open Scope R_scope.

(* The law of a ranking is that of its images under a function that tells all candidates apart. *)
Section Relabelled.
Context {A B : Type} (same_A : forall i j : A, {i = j} + {i <> j}) (same_B : forall i j : B, {i = j} + {i <> j}) (g : A -> B).

Definition apart (l : list A) : Prop := forall i j, In i l -> In j l -> g i = g j -> i = j.

Lemma remove_map : forall i l, In i l -> apart l -> remove same_B (g i) (map g l) = map g (remove same_A i l).
Proof.
  intros i l here distinct. assert (each : forall j, In j l -> g i = g j -> i = j) by (intros j there; now apply distinct).
  clear here distinct. induction l as [|j l IH]; [reflexivity|]. simpl.
  assert (rest := IH (fun h there => each h (or_intror there))).
  destruct (same_B (g i) (g j)) as [equal|other], (same_A i j) as [->|differ]; simpl; try (now rewrite rest); try easy.
  elim differ. apply each; [now left|assumption].
Qed.

Lemma apart_without : forall i l, apart l -> apart (remove same_A i l).
Proof. intros i l distinct j h here there. apply in_remove in here, there. now apply distinct. Qed.

Lemma rankings_map : forall k l, apart l -> rankings same_B k (map g l) = map (map g) (rankings same_A k l).
Proof.
  induction k as [|k IH]; intros l distinct; [reflexivity|]. simpl.
  assert (part : forall m, incl m l -> flat_map (fun i => map (cons i) (rankings same_B k (remove same_B i (map g l)))) (map g m)
    = map (map g) (flat_map (fun i => map (cons i) (rankings same_A k (remove same_A i l))) m)).
  { induction m as [|i m step]; intros within; [reflexivity|]. simpl.
    rewrite map_app, step by (intros j here; apply within; now right). f_equal.
    rewrite remove_map by (try apply within; try (now left); assumption). rewrite IH by now apply apart_without.
    rewrite !map_map. reflexivity. }
  apply part. now intros i.
Qed.

Lemma peeled_map : forall y l s, apart l -> NoDup y -> incl y l ->
  peeled same_B (map g l) s (map g y) = peeled same_A l (fun i => s (g i)) y.
Proof.
  induction y as [|i y IH]; intros l s distinct fresh within; [reflexivity|]. inversion fresh as [|? ? absent fresh']; subst. simpl.
  rewrite remove_map by (try apply within; try (now left); assumption). rewrite IH; [|now apply apart_without|assumption|].
  - unfold chosen, partition. now rewrite sum_map.
  - intros j here. apply in_in_remove; [intros ->; easy|]. apply within. now right.
Qed.

Lemma filter_of_map : forall {C D : Type} (p : D -> bool) (f : C -> D) l, filter p (map f l) = map f (filter (fun c => p (f c)) l).
Proof. induction l as [|c l IH]; simpl; [reflexivity|]. destruct (p (f c)); simpl; now rewrite IH. Qed.

Lemma released_map : forall {O : Type} k l s (name : list B -> O) event, NoDup l -> apart l ->
  released same_B k (map g l) s name event = released same_A k l (fun i => s (g i)) (fun y => name (map g y)) event.
Proof.
  intros O k l s name event fresh distinct. unfold released. rewrite rankings_map, filter_of_map, sum_map by assumption.
  apply sum_ext. intros y here. apply filter_In in here. destruct here as [here _].
  destruct (ranking_of same_A k l y fresh here) as (_ & once & within). now apply peeled_map.
Qed.

End Relabelled.

Section Unknown.
Context {I : Type} (same : forall i j : I, {i = j} + {i <> j}).
Context (tie : R -> I -> I -> Prop) (tie_asymmetric : forall v i j, tie v i j -> ~ tie v j i).
Context (is_key : I -> bool) (K k : nat) (tau t : R).

Lemma same_slot : forall i j : option I, {i = j} + {i <> j}.
Proof. intros [i|] [j|]; try (right; easy); [|now left]. destruct (same i j) as [->|other]; [now left|right; congruence]. Qed.

(* The slots of a table, and the stop symbol; their scores; and the keys that a ranking names before anything else. *)
Definition on_offer (C : list I) : list (option I) := None :: map Some C.
Definition score (h : I -> R) (b : R) (o : option I) : R := match o with Some i => (h i - b) / tau | None => t / tau end.
Fixpoint names (y : list (option I)) : list I :=
  match y with
  | Some i :: z => if is_key i then i :: names z else []
  | _ => []
  end.

(* With Gumbel noise, the probability that the release has a property. *)
Definition release (h : I -> R) (b : R) (C : list I) : (list I -> bool) -> R := released same_slot k (on_offer C) (score h b) names.

Definition lift (f : I -> I) (o : option I) : option I := match o with Some i => Some (f i) | None => None end.

Lemma on_offer_map : forall f C, on_offer (map f C) = map (lift f) (on_offer C).
Proof. intros f C. unfold on_offer. simpl. now rewrite !map_map. Qed.

Lemma on_offer_distinct : forall C, NoDup C -> NoDup (on_offer C).
Proof.
  intros C fresh. constructor; [intros back; apply in_map_iff in back; now destruct back as (? & ? & _)|].
  apply FinFun.Injective_map_NoDup; [|assumption]. intros i j equal. congruence.
Qed.

Lemma distinct_images : forall (f : I -> I) C, NoDup (map f C) -> forall i j, In i C -> In j C -> f i = f j -> i = j.
Proof.
  induction C as [|h C IH]; intros fresh i j here there equal; [easy|]. inversion fresh as [|? ? absent fresh']; subst.
  destruct here as [->|here], there as [->|there]; [reflexivity| | |now apply IH].
  - elim absent. rewrite equal. now apply in_map.
  - elim absent. rewrite <- equal. now apply in_map.
Qed.

Lemma lift_apart : forall f C, NoDup (map f C) -> apart (lift f) (on_offer C).
Proof.
  intros f C fresh [i|] [j|] here there equal; try easy. inversion equal as [equal']. f_equal.
  assert (inside : forall h, In (Some h) (on_offer C) -> In h C).
  { intros h [|back]; [easy|]. apply in_map_iff in back. destruct back as (h' & same_one & back). congruence. }
  apply (distinct_images f C fresh); auto.
Qed.

Section Neighbours.
Context (h h' : I -> R) (C : list I) (f : I -> I) (b b' p q : R) (rising falling : list I) (n : nat).
Hypothesis (slots_h : slots tie h K C) (slots_h' : slots tie h' K (map f C)).
Hypothesis (base_h : base h C b) (base_h' : base h' (map f C) b').
Hypothesis (near : forall i, - q <= h' i - h i <= p).
Hypothesis (stays : forall i, In i C -> In i (map f C) -> f i = i).
Hypothesis (up : forall i, h i < h' i -> In i rising) (down : forall i, h' i < h i -> In i falling).
Hypothesis (few : (Nat.min K (Nat.max (length rising) (length falling)) <= n)%nat) (some : (0 < n)%nat).
Hypothesis (scale : 0 < tau) (winners : (k <= K)%nat).

Definition moved (o : option I) : bool := match o with Some i => negb (member same (map f C) i) | None => false end.

Lemma offered : forall i, In (Some i) (on_offer C) -> In i C.
Proof. intros i [|back]; [easy|]. apply in_map_iff in back. destruct back as (j & same_one & back). congruence. Qed.

Lemma moved_or_kept : forall i, In i C -> (moved (Some i) = true /\ ~ In i (map f C) /\ ~ In (f i) C) \/ (moved (Some i) = false /\ f i = i).
Proof.
  intros i here. unfold moved. pose proof (member_true same (map f C) i) as is_member. destruct (member same (map f C) i); simpl.
  - right. split; [reflexivity|]. apply stays; [assumption|]. now apply is_member.
  - left. assert (gone : ~ In i (map f C)) by (intros back; apply is_member in back; easy). repeat split; try assumption.
    intros back. assert (fixed : f (f i) = f i) by (apply stays; [assumption|now apply in_map]).
    apply (distinct_images f C (proj1 slots_h')) in fixed; try assumption. apply gone. rewrite <- fixed. now apply in_map.
Qed.

Lemma change : forall o, In o (on_offer C) -> - q - (b' - b) <= tau * (score h' b' (lift f o) - score h b o) <= p - (b' - b).
Proof.
  pose proof (base_moves same tie h h' K C (map f C) b b' p q slots_h slots_h' base_h base_h' near) as moves.
  intros [i|] here; simpl; [|replace (t / tau - t / tau) with 0 by ring; lra]. apply offered in here.
  replace (tau * ((h' (f i) - b') / tau - (h i - b) / tau)) with ((h' (f i) - b') - (h i - b)) by (field; lra).
  destruct (moved_or_kept i here) as [(_ & gone & absent)|[_ ->]].
  - apply (renamed_slot same tie h h' K C (map f C) b b' p q slots_h slots_h' base_h base_h' near); try assumption. now apply in_map.
  - pose proof (kept_slot h h' b b' p q near i). lra.
Qed.

Lemma agreed : forall y, incl y (on_offer C) -> clean same_slot None moved y = true -> names y = names (map (lift f) y).
Proof.
  induction y as [|[i|] y IH]; intros within ok; [reflexivity| |reflexivity]. simpl in ok.
  destruct (same_slot (Some i) None) as [same_one|_]; [discriminate|].
  destruct (moved_or_kept i (offered i (within _ (or_introl eq_refl)))) as [(yes & _)|[_ fixed]].
  - unfold moved in yes. now rewrite yes in ok.
  - destruct (negb (member same (map f C) i)); [easy|]. simpl. rewrite fixed. destruct (is_key i); [|reflexivity]. f_equal.
    apply IH; [|assumption]. intros j here. apply within. now right.
Qed.

Lemma moved_count : (length (filter moved (on_offer C)) <= n)%nat.
Proof.
  unfold on_offer. simpl. rewrite (filter_of_map moved Some C), map_length. eapply Nat.le_trans; [|exact few].
  exact (renamed_slots same tie tie_asymmetric h h' K C (map f C) slots_h slots_h' rising falling up down).
Qed.

(* (k r, delta) in both directions, r = (p + q) / tau, and delta = n e^D / (n e^D + e^T) for D = (p + q) / tau, T = t / tau. *)
Theorem unknown_privacy : forall event,
  let r := (p + q) / tau in let delta := INR n * exp r / (INR n * exp r + exp (t / tau)) in
  release h b C event <= exp (INR k * r) * release h' b' (map f C) event + delta /\
  release h' b' (map f C) event <= exp (INR k * r) * release h b C event + delta.
Proof.
  intros event r delta. pose proof (proj1 slots_h) as fresh. pose proof (proj1 (proj2 slots_h)) as size.
  pose proof (on_offer_distinct C fresh) as distinct.
  assert (many : length (on_offer C) = S K) by (unfold on_offer; simpl; now rewrite map_length, size).
  assert (other : release h' b' (map f C) event =
    released same_slot k (on_offer C) (fun o => score h' b' (lift f o)) (fun y => names (map (lift f) y)) event).
  { unfold release. rewrite on_offer_map. apply released_map; [assumption|]. apply lift_apart, slots_h'. }
  rewrite other. unfold release.
  pose proof (unlisted_privacy same_slot None moved eq_refl k (on_offer C) (score h b) (fun o => score h' b' (lift f o)) r names
    (fun y => names (map (lift f) y)) n r (t / tau) distinct ltac:(lia) (or_introl eq_refl)) as cost.
  rewrite many in cost. replace (Nat.min k (S K - 1)) with k in cost by lia. apply cost; clear cost; try reflexivity; try assumption.
  - intros i j here there. pose proof (change i here). pose proof (change j there). unfold r.
    apply (Rmult_le_reg_l tau); [assumption|]. unfold Rdiv at 1.
    set (u := score h' b' (lift f i) - score h b i) in *. set (v := score h' b' (lift f j) - score h b j) in *.
    rewrite Rmult_minus_distr_l. replace (tau * ((p + q) * / tau)) with (p + q) by (field; lra). lra.
  - intros y here ok. apply agreed; [|assumption].
    now destruct (ranking_of same_slot k (on_offer C) y distinct here) as (_ & _ & within).
  - exact moved_count.
  - assert (divided : forall v, v <= p + q -> v / tau <= r).
    { intros v less. unfold r, Rdiv. apply Rmult_le_compat_r; [now apply Rlt_le, Rinv_0_lt_compat|assumption]. }
    intros [i|] here yes; [|easy]. apply offered in here. destruct (moved_or_kept i here) as [(_ & gone & absent)|[no _]]; [|congruence].
    split; simpl; apply divided.
    + apply (leaving_slot same tie h h' K C (map f C) b b' p q slots_h slots_h' base_h base_h' near); assumption.
    + apply (coming_slot same tie h h' K C (map f C) b b' p q slots_h slots_h' base_h base_h' near); [assumption|now apply in_map].
Qed.

End Neighbours.
End Unknown.
