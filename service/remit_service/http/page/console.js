"use strict";

// The key lives in this variable only: no storage, no cookie.
let key = "";

const find = (id) => document.getElementById(id);

async function call(path, options = {}) {
  const headers = { Accept: "application/json", ...(options.headers || {}) };
  if (key) headers.Authorization = `Bearer ${key}`;
  const reply = await fetch(path, { ...options, headers });
  const body = await reply.json();
  if (!reply.ok) throw new Error(body.detail || `status ${reply.status}`);
  return body;
}

// Text goes in as text, never as HTML: names in the graph are data of others.
function element(name, text, kind) {
  const made = document.createElement(name);
  made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function counts(values) {
  const parts = Object.entries(values).map(([name, count]) => `${count} ${name}`);
  return parts.length ? parts.join(", ") : "none";
}

async function showGraph() {
  try {
    const graph = await call("/v1/graph/summary");
    const rows = [
      ["Realm", graph.realm],
      ["Revision", String(graph.revision_number)],
      ["Policy", graph.policy_revision],
      ["Epochs", `policy ${graph.epochs.policy}, authority ${graph.epochs.authority}`],
      ["Engine", graph.engine],
      ["Principals", counts(graph.counts.principals)],
      ["Edges", counts(graph.counts.edges)],
      ["Resource types", String(graph.counts.resource_types)],
      ["Enforcement points", String(graph.counts.enforcement_points)],
    ];
    find("graph").replaceChildren(...rows.flatMap(([name, value]) => [element("dt", name), element("dd", value)]));
    find("graph-state").textContent = graph.ready ? "Ready." : `Not ready: ${graph.problems.join("; ")}`;
  } catch (error) {
    find("graph").replaceChildren();
    find("graph-state").textContent = `Not shown: ${error.message}`;
  }
}

function named(entity) {
  return entity ? `${entity.type}:${entity.id}` : "";
}

async function showRecent() {
  try {
    const { decisions } = await call("/v1/decisions?limit=20");
    const rows = decisions.filter((each) => each.subject).map((each) => {
      const row = document.createElement("tr");
      const result = each.result || {};
      row.append(
        element("td", each.timestamp || ""),
        element("td", named(each.subject)),
        element("td", each.action.name),
        element("td", named(each.resource)),
        element("td", result.outcome || "", result.effect),
        element("td", (result.reasons || []).map((reason) => reason.code).join(", ")),
      );
      return row;
    });
    find("recent").replaceChildren(...rows);
    find("recent-state").textContent = rows.length ? "Newest first." : "Nothing was asked yet.";
  } catch (error) {
    find("recent").replaceChildren();
    find("recent-state").textContent = `Not shown: ${error.message}`;
  }
}

function question(form) {
  const value = (name) => form.elements[name].value.trim();
  const context = value("context");
  return {
    subject: { type: value("subject-type"), id: value("subject-id") },
    action: { name: value("action") },
    resource: { type: value("resource-type"), id: value("resource-id") },
    context: context ? JSON.parse(context) : {},
  };
}

async function ask(event) {
  event.preventDefault();
  const verdict = find("verdict");
  try {
    const answer = await call("/access/v1/evaluation", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(question(event.target)),
    });
    const context = answer.context || {};
    verdict.className = answer.decision ? "permit" : "deny";
    verdict.textContent = answer.decision ? "Permitted: act now." : `Not permitted: ${context.outcome || "deny"}.`;
    const reasons = (context.reasons || []).map((reason) => element("li", `${reason.code}: ${reason.message}`));
    find("reasons").replaceChildren(...reasons);
    find("answer").textContent = JSON.stringify(answer, null, 2);
    find("answer-box").hidden = false;
  } catch (error) {
    verdict.className = "deny";
    verdict.textContent = `No answer: ${error.message}`;
    find("reasons").replaceChildren();
    find("answer-box").hidden = true;
  }
  showRecent();
}

find("ask").addEventListener("submit", ask);
find("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  key = find("key").value.trim();
  find("key").value = "";
  showGraph();
  showRecent();
});
showGraph();
showRecent();
