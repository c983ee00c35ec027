-- The health of the kinds of aalis.dev for Argo CD. The test of test/gitops runs it on objects of real controllers.
local hs = { status = "Progressing", message = "Waiting for the operator" }
if obj.metadata.deletionTimestamp ~= nil then
  hs.message = "Waiting until nobody uses it"
  return hs
end
local status = obj.status or {}
if obj.kind == "AgentReplica" then
  -- It has no conditions: it is what a kernel says of itself.
  if status.appliedRevision ~= nil and status.appliedRevision ~= "" then
    hs.status, hs.message = "Healthy", "Runs revision " .. status.appliedRevision
  else
    hs.message = "The kernel has reported nothing yet"
  end
  return hs
end
if status.observedGeneration ~= obj.metadata.generation then
  return hs
end
local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end
local ready = conditions.Ready
if ready == nil then
  return hs
end
hs.message = ready.message
if conditions.Stalled ~= nil and conditions.Stalled.status == "True" then
  hs.status, hs.message = "Degraded", conditions.Stalled.message
elseif ready.status == "True" and ready.reason == "Suspended" then
  hs.status = "Suspended"
elseif ready.status == "True" then
  hs.status = "Healthy"
end
return hs
