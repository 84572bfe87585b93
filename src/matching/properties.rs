//! What must hold of matching whatever the lines are.
