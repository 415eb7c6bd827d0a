//! The one test form that every verb must hold, for any act.

use std::time::{Duration, Instant};

use dalsegno::domain::{Act, Call, Cx, Intent, State, Undo, Undone};

/// Places somebody else's object under the intent's name, and tells whether it is still untouched.
pub(crate) trait Foreign {
    fn plant(&self, intent: &Intent);
    fn untouched(&self, intent: &Intent) -> bool;
}

/// Holds the form against one verb. `call` gives a call for a step name, so that each case has names of its own.
pub(crate) async fn holds(act: &dyn Act, cx: &Cx, call: &dyn Fn(&str) -> Call, foreign: Option<&dyn Foreign>) {
    names_are_derived_only_from_run_and_step(act, call);
    killed_before_start(act, cx, call).await;
    killed_between_start_and_handle(act, cx, call).await;
    killed_after_handle(act, cx, call).await;
    run_twice_is_once(act, cx, call).await;
    undo_twice_is_once(act, cx, call).await;
    if let Some(foreign) = foreign {
        somebody_elses_object_is_never_touched(act, cx, call, foreign).await;
    }
}

fn undoes(act: &dyn Act, call: &Call) -> bool {
    act.verbs().iter().any(|spec| spec.name == call.verb && spec.undo == Undo::Yes)
}

async fn settled(act: &dyn Act, cx: &Cx, intent: &Intent, handle: Option<&dalsegno::domain::Handle>) -> State {
    let until = Instant::now() + Duration::from_mins(1);
    loop {
        let state = act.look(cx, intent, handle).await.expect("look");
        if !matches!(state, State::Running { .. }) || Instant::now() > until {
            return state;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn gone(act: &dyn Act, cx: &Cx, intent: &Intent) {
    if undoes(act, &intent.call) {
        let state = act.look(cx, intent, None).await.expect("look");
        assert!(matches!(state, State::Absent), "{}: something is left: {state:?}", intent.call.step);
    }
}

async fn removes(act: &dyn Act, cx: &Cx, intent: &Intent, state: &State, expected: &Undone) {
    if undoes(act, &intent.call) {
        let undone = act.undo(cx, intent, state).await.expect("undo");
        assert_eq!(&undone, expected, "{}", intent.call.step);
    }
    gone(act, cx, intent).await;
}

fn names_are_derived_only_from_run_and_step(act: &dyn Act, call: &dyn Fn(&str) -> Call) {
    let call = call("derived");
    assert_eq!(act.intend(&call).unwrap(), act.intend(&call).unwrap());
}

async fn killed_before_start(act: &dyn Act, cx: &Cx, call: &dyn Fn(&str) -> Call) {
    let intent = act.intend(&call("before-start")).unwrap();
    let state = act.look(cx, &intent, None).await.expect("look");
    removes(act, cx, &intent, &state, &Undone::NothingToDo).await;
}

async fn killed_between_start_and_handle(act: &dyn Act, cx: &Cx, call: &dyn Fn(&str) -> Call) {
    let intent = act.intend(&call("no-handle")).unwrap();
    act.start(cx, &intent).await.expect("start");
    let state = settled(act, cx, &intent, None).await;
    assert!(matches!(state, State::Done { .. }), "found by its mark: {state:?}");
    removes(act, cx, &intent, &state, &Undone::Removed).await;
}

async fn killed_after_handle(act: &dyn Act, cx: &Cx, call: &dyn Fn(&str) -> Call) {
    let intent = act.intend(&call("with-handle")).unwrap();
    let handle = act.start(cx, &intent).await.expect("start");
    let state = settled(act, cx, &intent, Some(&handle)).await;
    assert!(matches!(state, State::Done { .. }), "{state:?}");
    removes(act, cx, &intent, &state, &Undone::Removed).await;
}

async fn run_twice_is_once(act: &dyn Act, cx: &Cx, call: &dyn Fn(&str) -> Call) {
    let intent = act.intend(&call("twice")).unwrap();
    act.start(cx, &intent).await.expect("start");
    let handle = act.start(cx, &intent).await.expect("a taken name with our mark means carry on");
    let state = settled(act, cx, &intent, Some(&handle)).await;
    assert!(matches!(state, State::Done { .. }), "{state:?}");
    removes(act, cx, &intent, &state, &Undone::Removed).await;
}

async fn undo_twice_is_once(act: &dyn Act, cx: &Cx, call: &dyn Fn(&str) -> Call) {
    let intent = act.intend(&call("undo-twice")).unwrap();
    act.start(cx, &intent).await.expect("start");
    let state = settled(act, cx, &intent, None).await;
    removes(act, cx, &intent, &state, &Undone::Removed).await;
    removes(act, cx, &intent, &state, &Undone::NothingToDo).await;
}

async fn somebody_elses_object_is_never_touched(act: &dyn Act, cx: &Cx, call: &dyn Fn(&str) -> Call, foreign: &dyn Foreign) {
    let intent = act.intend(&call("foreign")).unwrap();
    foreign.plant(&intent);
    act.start(cx, &intent).await.expect_err("the name is taken by somebody else");
    let state = act.look(cx, &intent, None).await.expect("look");
    assert!(matches!(state, State::Unclear { .. } | State::Absent), "never taken for ours: {state:?}");
    let undone = act.undo(cx, &intent, &state).await.expect("undo");
    assert!(matches!(undone, Undone::Stuck { .. } | Undone::NothingToDo), "{undone:?}");
    assert!(foreign.untouched(&intent), "somebody else's object was touched");
}
