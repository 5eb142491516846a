/** Finding a model in a table although its name has a maker, a date or a variant around it. Pure. */

/**
 * The key of `table` that means `model`: itself, else without the maker (`openai/…`), the variant (`…:free` is another
 * price, so it is none) and the release (`-2025-08-07`, `-20250807`, `-latest`). Other endings are other models.
 */
export function knownName(model: string, table: Readonly<Record<string, unknown>>): string | undefined {
  if (Object.hasOwn(table, model)) return model;
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase();
  const bare = name.replace(/-(\d{4}-\d{2}-\d{2}|\d{8}|latest)$/, '');
  return [name, bare].find((candidate) => Object.hasOwn(table, candidate));
}
