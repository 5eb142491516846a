/** The error by which a tool speaks to the model. Safe to import anywhere. */

/**
 * An error meant for the model, which can act on it ("there is no file a.txt"). Its message is the call's result, as
 * it stands; Temporal does not retry it. Any other error that a tool throws is retried where the tool's `effects` allow.
 */
export class ToolError extends Error {
  override readonly name = 'ToolError';
}
