-- The health of a WebApp of coxswain.dev, for Argo CD; how to install it: docs/gitops.md.
-- Argo CD runs it with the global `obj`, in Lua 5.1 without the string and math libraries.

local function verdict(status, message)
  return { status = status, message = message }
end

if obj.metadata.deletionTimestamp ~= nil then
  return verdict("Progressing", "is being deleted")
end

local status = obj.status or {}
local generation = obj.metadata.generation or 0

-- What was said of an older generation is no news of this one; a new WebApp has no status yet.
if (status.observedGeneration or 0) < generation then
  return verdict("Progressing", "waits for Coxswain to look at it")
end

local function condition(kind)
  for _, found in ipairs(status.conditions or {}) do
    if found.type == kind and (found.observedGeneration or generation) >= generation then
      return found
    end
  end
  return {}
end

local function holds(kind)
  return condition(kind).status == "True"
end

local ready = condition("Ready")

-- Someone wants it so, also where something is wrong: nothing is tried, so nothing can be waited for.
if obj.spec ~= nil and obj.spec.paused then
  local message = "spec.paused is true"
  if ready.status ~= "True" and ready.message ~= nil then
    message = message .. "; " .. ready.message
  end
  return verdict("Suspended", message)
end

if holds("Stalled") then
  return verdict("Degraded", condition("Stalled").message)
end

-- The operator has given way for a while: two managers take the same field from each other, and only people end that.
if holds("Contested") then
  return verdict("Degraded", condition("Contested").message)
end

-- Another manager has a field and the policy lets it (Yield): that is as the spec says. Where it does not (Halt),
-- Stalled has told so above.
if holds("Ready") then
  return verdict("Healthy", (holds("Conflicted") and condition("Conflicted") or ready).message)
end

-- Degraded ends a sync with waves as failed, and calls people; Progressing lets both wait. So Degraded are, beside what
-- is stalled, the failures that waiting does not end:
--   the program: it has ended at least twice in a row, or can't be started at all. What starts to fail after its rollout
--     has no deadline that would stall it, and would be in progress for ever;
--   the image: its name is none, or the node has it not and may not pull it;
--   a right or a quota that the operator lacks to write a child: no pod, so no rollout, so no deadline.
-- What the next try, another object or another node may mend is Progressing: images that can't be pulled just now,
-- a Secret that is not there yet, pods without a node, probes that fail, quotas of pods, an API server that does not
-- answer. In a rollout, spec.rollout.progressDeadlineSeconds ends that: then Stalled is True.
local needs_people = {
  CrashLoopBackOff = true,
  OOMKilled = true,
  RunContainerError = true,
  InvalidImageName = true,
  ErrImageNeverPull = true,
  Forbidden = true,
  AdmissionDenied = true,
}

if ready.status == "False" and needs_people[ready.reason] then
  return verdict("Degraded", ready.message)
end
return verdict("Progressing", ready.message or "waits for Coxswain to say whether it is ready")
