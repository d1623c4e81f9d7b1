-- Argo CD health check for a WebApp of coxswain.dev. See docs/gitops.md for its installation.
-- Argo CD runs it with the global `obj`, in Lua 5.1 without the string and math libraries.

local function verdict(status, message)
  return { status = status, message = message }
end

if obj.metadata.deletionTimestamp ~= nil then
  return verdict("Progressing", "being deleted")
end

local status = obj.status or {}
local generation = obj.metadata.generation or 0

-- The status is stale if it describes an older generation. A new WebApp has no status yet.
if (status.observedGeneration or 0) < generation then
  return verdict("Progressing", "waiting for Coxswain to reconcile this generation")
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

-- A user has paused the WebApp. The operator writes no children, so waiting does not resolve any problem.
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

-- Write war: another manager keeps overwriting a field. The operator has suspended its enforcement. A person must act.
if holds("Contested") then
  return verdict("Degraded", condition("Contested").message)
end

-- Conflicted is healthy here: under the policy Yield the spec leaves the field to the other manager. Under the policy
-- Halt the WebApp is Stalled, see above.
if holds("Ready") then
  return verdict("Healthy", (holds("Conflicted") and condition("Conflicted") or ready).message)
end

-- Degraded fails a sync with waves and notifies people. Progressing makes the sync wait. Besides stalled WebApps, these
-- failures are Degraded, because waiting does not resolve them:
--   program: it exited at least twice in a row, or cannot be started. After the rollout no deadline would stall it, so
--     the WebApp would be Progressing forever;
--   image: its name is invalid, or it is not on the node and imagePullPolicy is Never;
--   permissions and quotas: the operator cannot write a child. Without a rollout there is no deadline.
-- A retry, another object or another node may resolve all other failures, so they are Progressing: failing image pulls,
-- a missing Secret, unschedulable pods, failing probes, quotas of pods, an API server that does not respond. During a
-- rollout Stalled becomes True after spec.rollout.progressDeadlineSeconds.
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
return verdict("Progressing", ready.message or "waiting for Coxswain to report the condition Ready")
