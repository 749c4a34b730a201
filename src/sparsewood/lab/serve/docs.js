// @ts-check
// What /openapi.json says, to be read: paths, what they take and give, and a call to copy.

/** @typedef {Record<string, any>} Json */

/**
 * An element with attributes and children; texts become text nodes.
 * @param {string} name
 * @param {Record<string, string>} attributes
 * @param {...(Node | string | null)} children
 */
function make(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** The name of a schema that a reference leads to. @param {string} reference */
function target(reference) {
  return reference.slice(reference.lastIndexOf("/") + 1);
}

/** A type in words; references are links. @param {Json} schema @returns {(Node | string)[]} */
function kind(schema) {
  if (schema.$ref) {
    const name = target(schema.$ref);
    return [make("a", { href: `#${name}` }, name)];
  }
  if (schema.anyOf) {
    return schema.anyOf.flatMap((/** @type {Json} */ one, /** @type {number} */ i) => [
      ...(i ? [" or "] : []),
      ...kind(one),
    ]);
  }
  if (schema.enum) return [schema.enum.map((/** @type {any} */ x) => JSON.stringify(x)).join(" or ")];
  if (schema.type === "array") return ["list of ", ...kind(schema.items ?? {})];
  if (schema.type === "object" && schema.additionalProperties) {
    const values = schema.additionalProperties;
    return values === true ? ["object"] : ["object of ", ...kind(values)];
  }
  return [schema.type ?? "anything", bounds(schema)];
}

/** @param {Json} schema */
function bounds(schema) {
  const told = [];
  if (schema.minimum !== undefined) told.push(`from ${schema.minimum}`);
  if (schema.maximum !== undefined) told.push(`to ${schema.maximum}`);
  return told.length ? ` ${told.join(" ")}` : "";
}

/** The fields of a schema. @param {string} name @param {Json} schema */
function fields(name, schema) {
  const required = schema.required ?? [];
  const rows = Object.entries(schema.properties ?? {}).map(([field, of]) => {
    const standard = of.default === undefined || of.default === null ? "" : `; default ${of.default}`;
    return make(
      "tr",
      {},
      make("th", { scope: "row" }, make("code", {}, field)),
      make("td", {}, ...kind(of), standard, required.includes(field) ? "" : " (optional)"),
      make("td", {}, of.description ?? ""),
    );
  });
  return make(
    "article",
    { id: name },
    make("h2", {}, name),
    make("p", {}, schema.description ?? ""),
    make("table", { class: "fields" }, ...rows),
  );
}

/** A path: what it is for, what it takes and gives. @param {string} path @param {Json} methods */
function route(path, methods) {
  return Object.entries(methods).map(([method, told]) => {
    const taken = told.requestBody?.content?.["application/json"]?.schema;
    const given = Object.entries(told.responses).map(([status, response]) => {
      const schema = response.content?.["application/json"]?.schema;
      return make("li", {}, `${status} ${response.description}: `, ...(schema ? kind(schema) : []));
    });
    return make(
      "article",
      {},
      make("h2", {}, make("code", {}, `${method.toUpperCase()} ${path}`)),
      make("p", {}, told.description ?? ""),
      taken ? make("p", {}, "takes ", ...kind(taken)) : null,
      make("ul", {}, ...given),
      taken ? make("pre", { tabindex: "0" }, call(method, path)) : null,
    );
  });
}

/** A call that can be pasted into a terminal. @param {string} method @param {string} path */
function call(method, path) {
  const body = JSON.stringify({ sides: ["a sentence"], most: 3 });
  return [
    `curl -X ${method.toUpperCase()} ${location.origin}${path} \\`,
    "  -H 'Content-Type: application/json' \\",
    `  -d '${body}'`,
  ].join("\n");
}

const api = await (await fetch("/openapi.json")).json();
const about = document.querySelector("#about");
if (about) about.textContent = `${api.info.version}: ${api.info.description}`;
document
  .querySelector("#paths")
  ?.append(
    ...Object.entries(api.paths).flatMap(([path, methods]) => route(path, methods)),
    ...Object.entries(api.components.schemas).map(([name, schema]) => fields(name, schema)),
  );
