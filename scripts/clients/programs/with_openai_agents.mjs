// openai-agents for Node over Responses, its default, and over Chat: forced calls, a loop with thoughts, a structured answer, an error.
import { Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, run, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import { z } from "zod";

const [DEMO, PLAYER] = process.argv.slice(2);
const QUESTION = "What is the weather in Paris?";
const RESULT = "Sunny, 21 degrees.";
const ok = (name, good) => {
  if (!good) throw new Error(name);
  console.log(`ok ${name}`);
};
const cities = [];
const weather = tool({
  name: "get_weather",
  description: "Tell the weather of a city.",
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => (cities.push(city), RESULT),
});
const both = async (name, agent, prompt, good) => {
  const whole = await run(agent, prompt, { maxTurns: 3 });
  ok(`${name} whole`, good(whole.finalOutput));
  const streamed = await run(agent, prompt, { maxTurns: 3, stream: true });
  for await (const _ of streamed);
  await streamed.completed;
  ok(`${name} streamed`, good(streamed.finalOutput));
};

setTracingDisabled(true);
for (const [name, Model] of [
  ["responses", OpenAIResponsesModel],
  ["chat", OpenAIChatCompletionsModel],
]) {
  const model = (url, id = "default") =>
    new Model(new OpenAI({ baseURL: `${url}/v1`, apiKey: "unused", maxRetries: 0 }), id);
  for (const toolChoice of ["get_weather", "required"]) {
    const modelSettings = { toolChoice, parallelToolCalls: false, temperature: 0, maxTokens: 100 };
    const agent = new Agent({ name: "A", model: model(DEMO), tools: [weather], modelSettings });
    await both(`${name} ${toolChoice}`, agent, QUESTION, (text) => text && cities.splice(0).length);
  }
  const chooser = new Agent({ name: "A", model: model(PLAYER), tools: [weather] });
  const asked = `${QUESTION} [scene: weather]`;
  await both(`${name} with thoughts`, chooser, asked, (text) => text.includes(RESULT) && cities.pop() === "Paris");
  const outputType = z.object({ name: z.string(), age: z.number() });
  const structured = await run(new Agent({ name: "A", model: model(DEMO), outputType }), "Bob is 31 years old.");
  ok(`${name} structured`, outputType.parse(structured.finalOutput));
  const error = await run(new Agent({ name: "A", model: model(DEMO, "gone") }), QUESTION).catch((caught) => caught);
  ok(`${name} error`, error.status === 404);
}
