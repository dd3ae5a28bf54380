// Vercel's AI SDK, with both of its providers that speak Chat: a tool by name and any tool, whole and streamed; and structured answers.
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Output, generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const server = { baseURL: process.argv[2], apiKey: "unused" };
const models = [
  createOpenAICompatible({ ...server, name: "dragoman", supportsStructuredOutputs: true })("default"),
  createOpenAI(server).chat("default"),
];
let called = [];
const getWeather = tool({
  description: "The weather of a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => {
    called.push(city);
    return { sky: "sunny", degrees: 21 };
  },
});
const say = (answer) => {
  console.log(JSON.stringify({ called, answer }));
  called = [];
};

for (const model of models) {
  const asked = { model, temperature: 0, maxOutputTokens: 150, maxRetries: 0 };
  for (const toolChoice of [{ type: "tool", toolName: "getWeather" }, "required"]) {
    const loop = {
      ...asked,
      toolChoice,
      tools: { getWeather },
      prompt: "What is the weather in Paris?",
      stopWhen: stepCountIs(2),
      prepareStep: ({ stepNumber }) => (stepNumber > 0 ? { toolChoice: "auto" } : {}),
    };
    say((await generateText(loop)).text);
    const stream = streamText(loop);
    for await (const part of stream.fullStream) if (part.type === "error") throw part.error;
    say(await stream.text);
  }
  const output = Output.object({ schema: z.object({ name: z.string(), age: z.number().int() }) });
  const person = (await generateText({ ...asked, output, prompt: "Bob is 31 years old." })).output;
  called = ["schema"];
  say(person.name);
}
