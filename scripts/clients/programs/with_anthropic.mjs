// Anthropic's SDK for Node: forced calls whole and streamed, a structured answer, the tool runner with its threads, counts and errors.
import Anthropic from "@anthropic-ai/sdk";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { z } from "zod";

const [DEMO, PLAYER] = process.argv.slice(2);
const QUESTION = "What is the weather in Paris?";
const RESULT = "Sunny, 21 degrees.";
const demo = new Anthropic({ baseURL: DEMO, apiKey: "unused", maxRetries: 0 });
const player = new Anthropic({ baseURL: PLAYER, apiKey: "unused", maxRetries: 0 });
const ok = (name, good) => {
  if (!good) throw new Error(name);
  console.log(`ok ${name}`);
};
const asking = (content) => ({ model: "default", max_tokens: 150, temperature: 0, messages: [{ role: "user", content }] });
const textOf = (message) => message.content.filter((block) => block.type === "text").map((block) => block.text).join("");
const weather = {
  name: "get_weather",
  description: "Tell the weather of a city.",
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};

for (const type of ["tool", "any"]) {
  const choice = { type, ...(type === "tool" ? { name: weather.name } : {}), disable_parallel_tool_use: true };
  const asked = { ...asking(QUESTION), tools: [weather], tool_choice: choice };
  for (const streamed of [false, true]) {
    const message = streamed ? await demo.messages.stream(asked).finalMessage() : await demo.messages.create(asked);
    const results = message.content
      .filter((block) => block.type === "tool_use" && "city" in block.input)
      .map((block) => ({ type: "tool_result", tool_use_id: block.id, content: RESULT }));
    const turns = [...asked.messages, { role: "assistant", content: message.content }, { role: "user", content: results }];
    const answer = await demo.messages.create({ ...asking(QUESTION), tools: [weather], messages: turns });
    ok(`${type} ${streamed ? "streamed" : "whole"}`, results.length && textOf(answer));
  }
}

const Person = z.object({ name: z.string(), age: z.number() });
const output_config = { format: zodOutputFormat(Person) };
const parsed = await demo.messages.parse({ ...asking("Bob is 31 years old."), output_config });
ok("parse", Person.parse(parsed.parsed_output));
const counted = await demo.messages.countTokens({ model: "default", messages: asking(QUESTION).messages });
ok("countTokens", counted.input_tokens > 0);

const kinds = new Set();
const thoughtful = { ...asking(`${QUESTION} [scene: weather]`), max_tokens: 4096, tools: [weather] };
const stream = player.messages.stream({ ...thoughtful, thinking: { type: "enabled", budget_tokens: 1024 } });
for (const event of ["thinking", "signature", "inputJson", "contentBlock"]) stream.on(event, () => kinds.add(event));
const message = await stream.finalMessage();
ok("thinking", kinds.size === 4 && message.content[0].thinking.trim() === "They want the weather.");

for (const streamed of [false, true]) {
  const cities = [];
  const run = async ({ city }) => (cities.push(city), RESULT);
  const tool = betaZodTool({ ...weather, inputSchema: z.object({ city: z.string() }), run });
  let last;
  for await (const turn of player.beta.messages.toolRunner({ ...thoughtful, tools: [tool], stream: streamed }))
    last = streamed ? await turn.finalMessage() : turn;
  ok(`tool runner ${streamed ? "streamed" : "whole"}`, cities[0] === "Paris" && textOf(last).includes(RESULT));
}

const failing = [
  ["NotFoundError", demo, { ...asking(QUESTION), model: "gone" }],
  ["BadRequestError", demo, { ...asking(QUESTION), tool_choice: { type: "any" } }],
  ["APIError", player, { ...asking(`${QUESTION} [scene: dies]`), tools: [weather] }],
];
for (const [name, client, asked] of failing) {
  const error = await client.messages.stream(asked).finalMessage().catch((caught) => caught);
  ok(name, error instanceof Anthropic[name] && error.message);
}
