#!/usr/bin/env python3
# Copyright The Aalis Operator Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes table.json: who may run what under which policies, worked out from the rules of the design alone.

It shares no code with the operator, so that a mistake in the one is not in the other:

    python3 test/authority/testdata/oracle.py > test/authority/testdata/table.json
"""
import fnmatch
import json

# Every policy set is a list of AuthorityPolicy specs that all select the bot.
POLICIES = {
    "none": [],
    "house": [{
        "owners": ["boss"], "levels": {"two": 2, "one": 1, "bad": -1},
        "denied": ["tool:exec*"], "minimum": {"command:notes": 2, "tool:look": 9}, "confirm": {"tool:write": "Always", "command:wipe": "Never"},
    }],
    "nobody-is-asked": [{"owners": ["boss"], "levels": {"two": 2, "one": 1}, "pre": ["*"]}],
    "auto": [{"owners": ["boss"], "levels": {"two": 7}, "auto": True}],
    "lockdown": [{"owners": ["boss"], "levels": {"two": 2}, "denied": ["*"]}],
    "open-for-all": [{"owners": [], "minimum": {"tool:write": -5, "command:wipe": 0}, "levels": {"bad": -1}, "confirm": {"command:wipe": "Never"}}],
    "two-that-differ": [
        {"owners": ["boss"], "levels": {"two": 2, "one": 1}, "minimum": {"tool:look": 1}, "confirm": {"tool:read": "Session"}, "pre": ["*"]},
        {"owners": ["one"], "levels": {"two": 1, "bad": 5}, "minimum": {"tool:look": 2}, "confirm": {"tool:read": "Never"},
         "pre": ["tool:read"], "denied": ["command:no*es"]},
    ],
}
# What the operations declare: visibility, risk, confirm.
OPERATIONS = {
    "tool:look": ("", "", ""), "tool:read": ("", "sensitive", ""), "tool:write": ("", "dangerous", ""),
    "tool:exec_shell": ("restricted", "", ""), "tool:safe": ("restricted", "safe", ""), "tool:sign": ("public", "", "always"),
    "command:notes": ("", "", ""), "command:wipe": ("restricted", "", "session"),
}
USERS = ["boss", "two", "one", "bad", "guest"]


def decide(specs, user, operation):
    visibility, risk, confirm = OPERATIONS[operation]
    for s in specs:
        for pattern in s.get("denied", []):
            if fnmatch.fnmatchcase(operation, pattern.replace("[", "[[]").replace("?", "[?]")):
                return "deny"
    owner = any(user in s.get("owners", []) for s in specs)
    levels = [s["levels"][user] for s in specs if user in s.get("levels", {})]
    level = min(levels) if levels else 0
    minimums = [s["minimum"][operation] for s in specs if operation in s.get("minimum", {})]
    if minimums:
        minimum = max(minimums)
    elif risk:
        minimum = {"safe": 0, "sensitive": 1, "dangerous": 2}[risk]
    else:
        minimum = 2 if visibility == "restricted" else 0
    if not owner and level < minimum:
        return "deny"
    asks = confirm or ("session" if risk == "dangerous" else "")
    overrides = [s["confirm"][operation] for s in specs if operation in s.get("confirm", {})]
    if overrides:
        asks = {"Never": "", "Session": "session", "Always": "always"}[max(overrides, key=["Never", "Session", "Always"].index)]
    if not asks:
        return "allow"
    if asks == "always":
        return "confirm"
    if owner and any("auto" in s for s in specs):
        return "allow"
    lists = [s["pre"] for s in specs if "pre" in s]
    if lists and all(any(fnmatch.fnmatchcase(operation, p) for p in l) for l in lists):
        return "allow"
    return "confirm"


def spec(s):
    out = {"selector": {}}
    if s.get("owners"):
        out["owners"] = [{"platform": "openai", "userId": u} for u in s["owners"]]
    if s.get("levels"):
        out["levels"] = [{"platform": "openai", "userId": u, "level": n} for u, n in s["levels"].items()]
    if s.get("denied"):
        out["deniedCapabilities"] = s["denied"]
    if s.get("minimum"):
        out["authorityOverrides"] = [{"capability": c, "minLevel": n} for c, n in s["minimum"].items()]
    if s.get("confirm"):
        out["confirmOverrides"] = [{"capability": c, "confirm": r} for c, r in s["confirm"].items()]
    if s.get("pre"):
        out["preApproved"] = {"allow": s["pre"]}
    if s.get("auto"):
        out["autoConfirm"] = {"mode": "Forever"}
    return out


table = {
    "operations": [{"capability": c, "visibility": v, "risk": r, "confirm": f} for c, (v, r, f) in OPERATIONS.items()],
    "users": USERS,
    "policies": [{
        "name": name, "specs": [spec(s) for s in specs],
        "rows": [{"user": u, "capability": c, "outcome": decide(specs, u, c)} for u in USERS for c in OPERATIONS],
    } for name, specs in POLICIES.items()],
}
print(json.dumps(table, indent=1, ensure_ascii=False))
